#!/bin/sh
# A stand-in for a coding agent: reads a request, works on real files, answers.
printf 'Hello. Ask me: how many words, which files, or who wants TEXT.\n'
while printf 'ask> ' && IFS= read -r question; do
	case $question in
	*words*) printf 'There are %s words in %s messages.\n' "$(cat inbox/*.txt | wc -w | tr -d ' ')" "$(ls inbox | wc -l | tr -d ' ')" ;;
	*files*) ls inbox ;;
	*'who wants '*) grep -il -- "${question#*who wants }" inbox/*.txt || echo 'Nobody.' ;;
	exit) exit 0 ;;
	*) printf 'I do not know about "%s".\n' "$question" ;;
	esac
done

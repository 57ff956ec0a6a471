// Reports to gc what pi is doing. gc loads it with -e for one session.
import { spawn } from "node:child_process";

export default function (pi: any) {
  const report = (call: object) => {
    const gc = spawn(process.env.GC_BIN || "gc", ["report", "--hook", "pi", JSON.stringify(call)], { stdio: "ignore" });
    gc.on("error", () => {}); // there is no gc here
    gc.unref();
  };
  const last = (messages: any[] = []) => messages.filter((m) => m?.role === "assistant").pop();
  const said = (last: any) => {
    const text = (last?.content ?? []).filter((c: any) => c?.type === "text").map((c: any) => c.text);
    return text.join("\n").slice(0, 2048);
  };
  pi.on("agent_start", async () => report({ event: "working" }));
  pi.on("agent_end", async (event: any) => {
    const end = last(event.messages);
    if (end?.stopReason === "error") return report({ event: "error", message: String(end.errorMessage ?? "").slice(0, 2048) });
    report({ event: "done", message: said(end) });
  });
}

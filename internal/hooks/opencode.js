// Reports to gc what OpenCode is doing. gc adds it to the configuration of one session.
import { spawn } from "node:child_process";

export const GC = async () => {
  const children = new Set(); // sessions of subagents
  let last = "";
  const report = (event, message) => {
    if (event === last) return;
    last = event;
    const call = JSON.stringify({ event, message: String(message ?? "").slice(0, 2048) });
    const gc = spawn(process.env.GC_BIN || "gc", ["report", "--hook", "opencode", call], { stdio: "ignore" });
    gc.on("error", () => {}); // there is no gc here
    gc.unref();
  };
  return {
    event: async ({ event }) => {
      const p = event.properties ?? {};
      const id = p.sessionID ?? p.info?.id;
      if (event.type === "session.created" && p.info?.parentID) children.add(id);
      switch (event.type) {
        case "permission.asked": // of a subagent, too
          return report("blocked", `${p.permission ?? "permission"}: ${p.metadata?.command ?? (p.patterns ?? []).join(" ")}`);
        case "permission.replied":
          return report("working");
      }
      if (children.has(id)) return;
      switch (event.type) {
        case "session.status":
          return p.status?.type === "busy" || p.status?.type === "retry" ? report("working") : undefined;
        case "session.idle":
          return report("done");
        case "session.error":
          return p.error?.name === "MessageAbortedError" ? undefined : report("error", p.error?.data?.message ?? p.error?.name);
      }
    },
  };
};

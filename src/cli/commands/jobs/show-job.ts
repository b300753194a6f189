/** `haft jobs show`: one job, its input, its output and its result. */
import type { SessionEvent } from "../../../core/event.ts";
import type { StoredJob } from "../../../core/store/job-store.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { formatTime } from "../sessions/format-time.ts";
import { resultLines } from "../../print/print-result.ts";
import { formatDuration, toOneLine, safeName, wrap } from "../../terminal/terminal-text.ts";
import { JobLog } from "./job-log.ts";
import { STATE_STYLES, findJob } from "./job-text.ts";
import { lineWidth } from "../../terminal/text-width.ts";

const MAX_OUTPUT_CHARS = 2_000;

export const showJob: Command = {
  name: "jobs show",
  usage: "<id>",
  summary: "Show one job: its input, the end of its output, its result.",
  details: ["With --json one object, in which output is all that the log of its session has."],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft jobs show call_1", "haft jobs show call_1 --session travel --json | jq .result"],
  async run(context) {
    await withStore(context, { readOnly: true }, async (store) => {
      const job = await findJob(context, store);
      const details = await readDetails(new JobLog(store, job));
      if (context.options.json) context.out.writeJson({ ...job, ...details });
      else print(context, job, details);
    });
    return 0;
  },
};

interface JobDetails {
  readonly input?: unknown;
  readonly output: string;
  readonly question?: string;
  readonly result?: ToolResult;
}

async function readDetails(log: JobLog): Promise<JobDetails> {
  let details: JobDetails = { output: "" };
  for await (const event of log.read()) details = applyEvent(details, event);
  return details;
}

function applyEvent(details: JobDetails, event: SessionEvent): JobDetails {
  const { question: _question, ...rest } = details;
  switch (event.type) {
    case "call-start":
      return { ...details, input: event.call.input };
    case "job-output": {
      const output = details.output + event.text;
      return event.asks === true ? { ...details, output, question: event.text } : { ...details, output };
    }
    case "job-input":
    case "job-run": // from its beginning: it asks again
      return rest;
    case "call-end":
      return { ...rest, result: event.result, ...(event.input === undefined ? {} : { input: event.input }) };
    default:
      return details;
  }
}

function print({ out }: CommandContext, job: StoredJob, { input, output, question, result }: JobDetails): void {
  const width = lineWidth(out);
  const { startedAt, endedAt, openedBy, cancelReason } = job;
  const fact = (name: string, value: string): void => out.print(`${out.paint("dim", name.padEnd(9))}${value}`);
  fact("job", out.paint("bold", safeName(job.id)));
  fact("tool", safeName(job.toolName));
  fact("session", safeName(job.sessionId));
  fact("state", out.paint(STATE_STYLES[job.state], job.state));
  fact("began", formatTime(startedAt));
  if (endedAt !== undefined) fact("ended", `${formatTime(endedAt)}, after ${formatDuration(endedAt - startedAt)}`);
  else fact("run by", openedBy === undefined ? "no process, until its session is resumed" : safeName(openedBy));
  if (job.starts !== 1) fact("starts", String(job.starts));
  if (cancelReason !== undefined) fact("cancelled", toOneLine(cancelReason, width));
  if (input !== undefined) fact("input", toOneLine(JSON.stringify(input), width - 9));
  if (question !== undefined) fact("asks", toOneLine(question, width - 9));
  if (output !== "") {
    const shown = output.slice(-MAX_OUTPUT_CHARS);
    out.print(
      out.paint("dim", shown.length < output.length ? `output, the last ${shown.length} of ${output.length} characters` : "output"),
    );
    for (const line of wrap(shown.trimEnd(), width - 2)) out.print(`  ${line}`);
  }
  if (result === undefined) return;
  const style = { screen: out, width, label: "  ", nameWidth: 0, waits: [] };
  out.print(resultLines(result, style).join("\n"));
}

/** Recorded sessions of a help desk, with people, addresses, ids and secrets in them. */
import { parseRecording, writeRecording } from "../../../src/core/recording/recording.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RecordedSource } from "../../../src/generate/conversations/recorded/recorded-plan.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";

/** A message, or a call with what it answers. */
export type Line =
  | { readonly user: string }
  | { readonly assistant: string }
  | { readonly call: string; readonly input: JsonObject; readonly output: unknown }
  | { readonly call: string; readonly input: JsonObject; readonly fails: string };

function desk(answers: Map<string, unknown>) {
  const tool = (name: string): Tool => ({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: "object" },
    execute: (): unknown => {
      const answer = answers.get("next");
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return createRuntime({
    toolsets: [{ name: "desk", tools: ["find_ticket", "list_tickets", "close_ticket", "read_settings"].map(tool) }],
    ports: { log: { debug() {}, warn() {} } },
  });
}

/** The events of a session in which these lines were said and called. */
export async function recordedEvents(lines: readonly Line[], id = "desk-1"): Promise<readonly SessionEvent[]> {
  const answers = new Map<string, unknown>();
  const runtime = desk(answers);
  const session = runtime.session(id);
  for (const line of lines) {
    if ("user" in line) await session.addMessage({ role: "user", content: line.user });
    else if ("assistant" in line) await session.addMessage({ role: "assistant", content: line.assistant });
    else {
      answers.set("next", "fails" in line ? new Error(line.fails) : line.output);
      await session.execute({ name: line.call, input: line.input });
    }
  }
  const { log } = session;
  await runtime.close();
  return [...log];
}

export async function source(name: string, lines: readonly Line[]): Promise<RecordedSource> {
  const events = await recordedEvents(lines, name);
  return { name, events: () => events };
}

/** The text of a recording. */
export async function recordingText(lines: readonly Line[], id = "desk-1"): Promise<string> {
  let text = "";
  for await (const line of writeRecording(await recordedEvents(lines, id), { sessionId: id, exportedAt: 0 })) text += line;
  parseRecording(text); // it is sound
  return text;
}

/** A conversation about one ticket, whose number tells it from others. */
export function plainLines(number: number): readonly Line[] {
  return [
    { user: `Is ticket T-${number} open?` },
    {
      call: "desk::find_ticket",
      input: { ticket_id: `T-${number}` },
      output: { ticket_id: `T-${number}`, state: "open", hours: number % 24 },
    },
    { assistant: `Yes, T-${number} is open.` },
  ];
}

export const PRIVATE_LINES: readonly Line[] = [
  { user: "I am Grace Hopper, grace.hopper@navy.mil, call me on +1 202 456 1414. What is the state of my tickets?" },
  {
    call: "desk::list_tickets",
    input: { email: "grace.hopper@navy.mil" },
    output: {
      customer: { name: "Grace Hopper", email: "Grace.Hopper@navy.mil", customer_id: "cus_8837201" },
      tickets: [
        { ticket_id: "TCK-48213", assignee: "Alan Kay", url: "https://desk.internal/t/TCK-48213?mail=grace.hopper%40navy.mil" },
        { ticket_id: "TCK-48214", assignee: "Alan Kay" },
      ],
    },
  },
  { assistant: "Grace, TCK-48213 and TCK-48214 are both with Alan." },
  { user: "Close TCK-48213." },
  {
    call: "desk::close_ticket",
    input: { ticket_id: "TCK-48213", customer_id: "cus_8837201" },
    output: { closed: true, reference: "TCK-48213" },
  },
  { assistant: "TCK-48213 is closed." },
];

export const SECRET_LINES: readonly Line[] = [
  { user: "Read my settings." },
  {
    call: "desk::read_settings",
    input: { user: "me" },
    output: {
      region: "eu",
      api_key: "live-9f8e7d6c5b4a",
      note: "curl -H 'Authorization: Bearer abcDEF123456.token'",
      dsn: "postgres://app:hunter22@db.local/x",
    },
  },
  { assistant: "The region is eu, and the key live-9f8e7d6c5b4a is set." },
];

/** The named schemas of the API: those that several routes use, and those of the events of streams. */
import { APPROVAL_SCOPES, APPROVAL_STATUSES } from "../../../core/approval-store.ts";
import { ERROR_CODES } from "../../../core/error-codes.ts";
import { ANSWER_SOURCES } from "../../../core/answer-source.ts";
import { JOB_STATES } from "../../../core/job-status.ts";
import type { ComponentTypes } from "./component-types.ts";
import { answer, anyJson, array, flag, id, integer, object, oneOf, record, ref, text, time } from "./json-schema.ts";

const statuses = ["ok", "partial", "error", "cancelled", "skipped", "pending"] as const;
const outcomes = ["not_started", "failed", "unknown"] as const;

/** The sources that calls may be answered from. */
export const answerSources = array(oneOf("A source of answers.", ANSWER_SOURCES), {
  description: "The sources that answer these calls: each is asked where those before it have no answer.",
  minItems: 1,
  maxItems: ANSWER_SOURCES.length,
});

export const COMPONENTS = {
  ToolCall: object(
    {
      id: text("The id of the model's provider, handed back in the result.", { maxLength: 1_024 }),
      name: text("A qualified name such as weather::get, or a bare one that only one tool has.", { minLength: 1, maxLength: 512 }),
      input: anyJson,
      reasoning: text("The model's reason for the call; recorded, never interpreted.", { maxLength: 65_536 }),
    },
    ["name"],
  ),
  Problem: answer(
    {
      type: text("The same for each error code, for ever."),
      title: text("The code in words."),
      status: integer("An HTTP status. Of a call's result: what its code maps to, never the status of the response.", 100, 599),
      detail: text("What happened, and with what."),
      code: oneOf("The code of the error.", Object.keys(ERROR_CODES)),
      retryable: flag("Whether the same request may succeed later without a change."),
      outcome: oneOf("Whether anything was begun.", outcomes),
      hint: text("What would work."),
      details: array(text("One problem."), { description: "One line per problem, such as each wrong field with its path." }),
      callId: text("The call that failed."),
    },
    ["type", "title", "status", "detail", "code", "retryable", "outcome"],
  ),
  Process: answer(
    {
      id: id("Unlike that of any other process."),
      name: text("A name for people."),
      role: text("The kind of program, such as serve, worker or cli."),
      host: text("The host that it runs on."),
      pid: integer("Its number there.", 0, Number.MAX_SAFE_INTEGER),
      address: text("Where other processes reach it."),
      version: text("The version of the program."),
      places: array(text("A place that it has.")),
      own: flag("It is the process that answers."),
      alive: flag("It was heard of within its lease; others may claim the sessions of one that is not."),
      startedAt: time("When it began, by the clock of the database."),
      seenAt: time("When it was last heard of, likewise."),
      silentMs: { type: "number", description: "Milliseconds since then. Processes say every 5 seconds that they live." },
      sessions: integer("How many sessions it has open.", 0, Number.MAX_SAFE_INTEGER),
      sessionIds: array(id("A session."), { description: "Those that were used last, at most 20." }),
      eventsBehind: integer(
        "Events of the store that it had not read yet when it was last heard of; left out where it follows none.",
        0,
        Number.MAX_SAFE_INTEGER,
      ),
    },
    ["id", "host", "pid", "own", "alive", "seenAt", "silentMs", "sessions", "sessionIds"],
  ),
  ContentPart: answer({ type: oneOf("The kind of part.", ["text", "image", "audio", "file"]) }, ["type"]),
  ToolResult: answer(
    {
      callId: id("The call's own id, unique for ever."),
      id: text("The provider's id, as the call brought it."),
      name: text("The qualified name of the tool, or the name as asked."),
      status: oneOf("How the call ended; pending: it continues as a background job.", statuses),
      output: anyJson,
      content: array(ref("ContentPart"), { description: "Text, images and files for the model." }),
      error: record("The error as the runtime has it; set whenever the status is neither ok nor pending."),
      problem: ref("Problem"),
      origin: oneOf("Where the result came from.", ["live", "cache", "replay", "simulated", "stub"]),
      attempts: integer("How often the handler was started.", 0, Number.MAX_SAFE_INTEGER),
      durationMs: { type: "number", description: "From the call's arrival to this result." },
      repairs: array(record("A change that made the input fit its schema.")),
      warnings: array(text("A warning.")),
      truncation: record("Set where the answer was cut: its handle, totalBytes and shownBytes."),
    },
    ["callId", "name", "status", "origin", "attempts", "durationMs", "repairs", "warnings"],
  ),
  Tool: answer(
    {
      name: text("The qualified name."),
      title: text("One line for people."),
      description: text("What the model reads."),
      inputSchema: { description: "JSON Schema of the input." },
      outputSchema: { description: "JSON Schema of the output, where one is promised." },
      annotations: record("readOnlyHint, destructiveHint, idempotentHint and openWorldHint, as MCP has them."),
      tags: array(text("A tag.")),
      toolset: text("The toolset that it belongs to."),
      mode: oneOf("How its calls run.", ["direct", "background", "stateful"]),
    },
    ["name", "description", "inputSchema", "annotations", "toolset", "mode"],
  ),
  Session: answer(
    {
      id: id("The session's id."),
      open: flag("Whether the server has it open."),
      length: integer("How many events it has.", 0, Number.MAX_SAFE_INTEGER),
      title: text(
        "Its first message of a user or the first tool that was called, whichever came first; cut. Left out where there is none.",
      ),
      simulated: flag("It is a branch whose calls leave no trace."),
      createdAt: time("When it began."),
      updatedAt: time("When its last event was recorded."),
      parent: record("The session that it is a branch of: sessionId and length."),
      openedBy: text("The process that has it open."),
      openedIn: text("The id of that process, as GET /v1/fleet lists it."),
      damage: text("Set when what the store has of it is damaged."),
    },
    ["id", "open", "length"],
  ),
  SessionEvent: answer({ type: text("Noun-action: call-start."), at: time("When it happened."), sessionId: id("Its session.") }, [
    "type",
    "at",
    "sessionId",
  ]),
  RuntimeEvent: answer(
    { type: text("Noun-action: call-progress."), at: time("When it happened."), sessionId: text("Its session, if any.") },
    ["type", "at"],
  ),
  SessionDiff: answer(
    {
      state: array(record("A value of the state that differs: toolset, key, before, after and patch.")),
      calls: array(record("A call that was made: callId, turnId, call, input and result.")),
      pretended: array(text("A resource key that a simulated call would have written.")),
    },
    ["state", "calls", "pretended"],
  ),
  SessionSnapshot: answer(
    {
      haft: oneOf("What it is.", ["snapshot"]),
      version: integer("Its format.", 1, 1),
      sessionId: id("The session it was taken of."),
      at: time("When."),
      events: array(ref("SessionEvent")),
      state: record("The values of state by toolset and key."),
      engines: record("The state of engines by toolset."),
    },
    ["haft", "version", "sessionId", "at", "events", "state", "engines"],
  ),
  PendingApproval: answer(
    {
      id: id("The question itself: the same when its call is asked about again after a crash."),
      position: integer("Its place among all questions, by when it was asked last. Counts from 1.", 1, Number.MAX_SAFE_INTEGER),
      status: oneOf("open: it waits for an answer; withdrawn: its call ended without one; expired: none came in time.", APPROVAL_STATUSES),
      callId: id("The call that waits."),
      sessionId: id("Its session."),
      toolName: text("Its tool, qualified."),
      description: text("What the tool does."),
      input: record("The final input: what is approved is exactly what runs."),
      digest: text("What an answer is bound to: the tool, its definition and the input."),
      definition: text("The fingerprint of the tool's definition."),
      reason: text("Why it needs approval."),
      simulated: flag("The call belongs to a simulation that allows side effects."),
      within: array(record("An enclosing call: callId, toolName and input.")),
      askedBy: text("The principal or agent whose call it is."),
      askedAt: time("When it was asked."),
      expiresAt: time("From then on an answer counts for nothing."),
      askedIn: text("The living process that waits; left out where none does: its session must be resumed."),
      scope: oneOf("How far a yes reaches.", APPROVAL_SCOPES),
      ruleId: text("The rule that answered, or that was made of the answer."),
      answeredBy: text("The author of the answer."),
      answeredAt: time("When it was answered, withdrawn or expired."),
      covers: array(record("A call that a yes covers as well: toolName and input.")),
      damage: text(
        "Set when what the store has of it is damaged: it takes no answer, and what is not in the columns of the store is empty.",
      ),
    },
    ["id", "position", "status", "callId", "sessionId", "toolName", "description", "input", "digest", "reason", "simulated", "askedAt"],
  ),
  ApprovalRule: answer(
    {
      id: id("Its id."),
      pattern: text("Over qualified names; * matches any text."),
      scope: oneOf("input and tool: it was made of an answer, and holds for one session.", APPROVAL_SCOPES),
      sessionId: id("Calls of this session only."),
      digest: text("Calls with this input only."),
      definition: text("While the tool is defined as it was."),
      createdAt: time("When it was made."),
      createdBy: text("The principal that made it."),
      expiresAt: time("When it ends; left out, it holds until it is revoked."),
      damage: text("Set when what the store has of it is damaged: it allows nothing."),
    },
    ["id", "pattern", "scope", "createdAt"],
  ),
  Job: answer(
    {
      id: id("The id of its call."),
      sessionId: id("Its session."),
      toolName: text("Its tool, qualified."),
      mode: oneOf("How it runs.", ["background", "stateful"]),
      state: oneOf("queued, running and waiting have not ended; waiting: for input, or for approval of a call.", JOB_STATES),
      startedAt: time("When it began."),
      endedAt: time("When it ended."),
      output: record("How much it has written: chars and lines."),
      preview: text("The end of what it has written."),
      question: text("Its question, while it asks for input."),
      error: record("The error that it ended with."),
      errorCode: text("The code of that error, of a job that is only in the store."),
      notify: flag("Whether its end wakes an agent."),
      result: ref("ToolResult"),
      openedBy: text("The process that runs it."),
    },
    ["id", "sessionId", "toolName", "mode", "state", "startedAt", "notify"],
  ),
  Trigger: answer(
    {
      id: id("Its id."),
      type: text("timer, schedule, channel or a kind that the program brought."),
      settings: record("The settings of its type."),
      addedAt: time("When it was added."),
      sent: integer("How many messages it has sent.", 0, Number.MAX_SAFE_INTEGER),
      running: flag("An agent runs, and with it the trigger."),
      paused: flag("It sends nothing until it is resumed."),
      error: text("Why it does not work at present."),
    },
    ["id", "type", "settings", "addedAt", "sent", "running"],
  ),
  Schedule: answer(
    {
      id: id("Its id."),
      sessionId: id("The session whose agent it wakes."),
      settings: record("prompt, zone, catchUp, and one of everyMinutes, dailyAt, hourlyAt and cron."),
      addedAt: time("When it was added."),
      nextAt: time("When it is due next; left out where it never is again."),
      sent: integer("How many messages it has sent.", 0, Number.MAX_SAFE_INTEGER),
      running: flag("An agent runs, and with it the schedule."),
      paused: flag("It sends nothing until it is resumed."),
      error: text("Why it does not work at present."),
    },
    ["id", "sessionId", "settings", "addedAt", "sent", "running"],
  ),
  ChannelMessage: answer(
    {
      id: id("Its id."),
      channel: text("The channel."),
      sender: text("The name of the sender."),
      senderId: text("The sender itself."),
      content: text("What it says."),
      metadata: record("What the sender added."),
      at: time("When it was sent."),
    },
    ["id", "channel", "sender", "content", "at"],
  ),
} as const satisfies Record<keyof ComponentTypes, object>;

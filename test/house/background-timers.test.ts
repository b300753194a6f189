import { expect, test } from "vitest";
import { readTree } from "./source-tree.ts";

/** The timers that let the process end, and why no caller waits for what they do. */
const BACKGROUND_TIMERS: Readonly<Record<string, string>> = {
  "src/adapters/chat-runs.ts":
    "forgets a run that is over, and a look at open approvals; keeps a quiet stream open, whose connection keeps the process alive",
  "src/adapters/feed-steps.ts": "lets open approvals of a run be looked for, which keeps the process alive while it works",
  "src/call/attempt/orphan.ts": "counts an abandoned handler; gives back what it holds, for which a waiting call keeps the process alive",
  "src/call/claim-watch.ts":
    "looks whether another process has taken the session; a call that runs or waits for a person keeps the process alive",
  "src/call/jobs/run-in-background.ts":
    "lets the next job start after one that runs for long; a job that waits in line keeps the process alive",
  "src/cli/open/exclusive-agent.ts": "looks whether an agent's session is free; the command that runs the agent waits to be stopped",
  "src/documents/watch-files.ts": "looks at changed files; a refresh reads them all the same",
  "src/engine/lazy-server.ts": "ends a server that no call uses",
  "src/engine/mcp.ts": "lists tools again that may be out of date",
  "src/engine/mcp/change-stream.ts": "opens a stream of changes again",
  "src/engine/mcp/server-link.ts": "connects again to a server of which no call wants anything",
  "src/engine/mcp/server-stream.ts": "opens the stream of a server's own messages again",
  "src/model/exchange.ts": "closes the connection of an answer that was whole before its body ended",
  "src/net/limited-response.ts": "drops a body that nobody reads",
  "src/policy/approval/approval-poller.ts": "looks for answers of other processes; a call that waits for one keeps the process alive",
  "src/registry/lifecycle/engine-relister.ts": "lists the tools of an engine again, as it asked for",
  "src/runtime/events/event-feeds.ts": "forgets events that no reader came back for",
  "src/runtime/events/event-tail.ts": "reads a log again that could not be read; a reader that waits keeps the process alive",
  "src/runtime/events/store-watch.ts": "looks for what other processes wrote; a reader that waits keeps the process alive",
  "src/runtime/job-watch.ts": "looks for jobs that another process cancelled, while they run",
  "src/runtime/resume/resume-session.ts": "says that a resume waits for approvals, whose calls keep the process alive",
  "src/server/api/handlers/sessions.ts": "ends the wait of a commit, whose connection keeps the process alive",
  "src/server/api/handlers/submissions.ts":
    "forgets what came of calls that nobody asked for; ends the wait of a request whose connection keeps the process alive",
  "src/server/api/requests/forward.ts": "looks which server opens a session for a request, whose connection keeps the process alive",
  "src/server/api/requests/keyed-answers.ts":
    "says that a keyed request is under way, and looks for the answer of another process; the request's connection keeps the process alive",
  "src/server/api/sessions/session-pool.ts": "closes a session that no request uses",
  "src/server/api/sessions/use-within.ts": "ends the wait of a request for a session, whose connection keeps the process alive",
  "src/server/auth/call-log.ts": "writes calls for the audit, which the end of the server writes as well",
  "src/server/auth/credential-watch.ts":
    "looks whether the credentials behind a stream still hold, whose connection keeps the process alive",
  "src/server/auth/issuer-keys.ts": "ends the request for an issuer's keys, whose connection keeps the process alive",
  "src/server/auth/refusal-log.ts":
    "writes refused requests again after a failure of the store; the rest is written when the server closes",
  "src/server/events/event-hub.ts": "writes to streams that are quiet",
  "src/server/fleet-member.ts": "tells other processes of tools that have changed",
  "src/server/http/direct.ts": "keeps a quiet stream open, whose connection keeps the process alive",
  "src/server/http/end-response-early.ts": "waits for the rest of a request that is answered, whose connection keeps the process alive",
  "src/server/mcp/direct-calls.ts": "keeps the answer to a call open, whose connection keeps the process alive",
  "src/server/mcp/http-sessions.ts": "ends a client's session that is idle",
  "src/server/mcp/peer-handlers.ts": "ends the wait for servers that hang, while the client's request keeps the process alive",
  "src/server/mcp/stream-when-late.ts": "keeps an answer open, whose connection keeps the process alive",
  "src/server/mcp/suspensions.ts": "cancels work that no client came back for",
  "src/server/mcp/tasks/task-call.ts": "starts a call as a background job, which is no timer",
  "src/server/mcp/tasks/task-listen-requests.ts": "looks for a task again for a connection, which keeps the process alive",
  "src/server/mcp/tasks/task-states.ts": "looks at a task for a request or a stream, whose connection keeps the process alive",
  "src/server/mcp/tasks/task-stream.ts": "looks at a task for a stream, whose connection keeps the process alive",
  "src/server/mcp/tasks/tasks.ts": "forgets a task that is over",
  "src/server/webhooks/webhook-sender.ts": "tries a delivery again, which the store keeps",
  "src/server/worker/create-worker.ts": "looks for sessions whose process is gone; the queue keeps the process alive",
  "src/store/database/database-store.ts": "closes a log again whose store did not answer",
  "src/store/postgres/postgres-notifier.ts":
    "tells other processes what was written, and connects again; the calls that wrote it keep the process alive",
  "src/store/postgres/queue-consumer.ts":
    "looks for sessions that are offered, and keeps those that are held; the queue's own timers keep the process alive",
  "src/triggers/channel-trigger.ts": "looks whether the inbox of an agent has room again",
  "src/triggers/running-trigger.ts": "starts a trigger again that failed; one that works keeps the process alive itself where it has to",
  "src/triggers/stored-messages.ts": "looks for messages of other processes: a channel keeps no process alive, as one in memory does not",
  "src/triggers/stored-subscription.ts": "reads a channel again after a failure of the store",
};

test("timers that do not keep the process alive are set only in the listed files", () => {
  const found = [...readTree("src/**/*.ts")]
    .filter(([, text]) => /(?<!execute\(calls, |calls, )\{\s*background: true,?\s*\}/u.test(text))
    .map(([path]) => path);
  expect(found).toEqual(Object.keys(BACKGROUND_TIMERS));
});

test("timers are set and cleared only in the ports, the dashboard and the listed files", () => {
  const found = [...readTree("src/**/*.ts")]
    .filter(
      ([path, text]) => !path.startsWith("src/dashboard/") && /\bset(?:Timeout|Interval)\(|\bnodeSet(?:Timeout|Interval)\b/u.test(text),
    )
    .map(([path]) => path);
  // Besides the dashboard, which is a page: the last sending of the command line's telemetry; a client that runs in browsers, which have no ports; the heartbeats of the store: in a
  // thread, and in the calling one where a bundle has no file for a thread.
  expect(found).toEqual([
    "src/cli/open/start-telemetry.ts",
    "src/client/wait.ts",
    "src/core/system/lazy-timer.ts",
    "src/core/system/system-ports.ts",
    "src/store/database/in-thread-database.ts",
    "src/store/sqlite/sqlite-worker.ts",
  ]);
});

test("rooms wait for the next turn of the event loop with onNextTurn(), which fake timers do not replace, and which an imitation of a browser has", () => {
  const found = [...readTree("src/**/*.ts")]
    .filter(([path, text]) => !/^src\/(?:dashboard|cli)\//u.test(path) && /\b(?:set|clear)Immediate\(/u.test(text))
    .map(([path]) => path);
  expect(found).toEqual([]);
});

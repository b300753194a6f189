/** The conversation with one agent: its messages, its calls in their place, and a form to send a message. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useFoldedLog, type FollowedState } from "../server/use-folded-log.ts";
import { CancelAction } from "../server/cancel-action.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { sessionPath, useGo } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Panel } from "../show/panel.tsx";
import { Loading, Notice } from "../show/basic-components.tsx";
import { AgentState, isBusy, type Agent } from "./agent-state.tsx";
import { ChatCall, ChatMessage, PartialMessage } from "./chat-parts.tsx";
import { ChatLog } from "./chat-log.ts";

export function AgentPanel({ name, agent }: { readonly name: string; readonly agent: Agent | undefined }): ReactNode {
  const go = useGo();
  const close = (): void => go("/agents");
  return (
    <Panel
      label="Agent"
      subject="agent"
      className="chat-panel"
      title={<UntrustedText text={name} maxLength={80} />}
      onClose={close}
      actions={
        <>
          {agent !== undefined && <AgentState agent={agent} />}
          {agent !== undefined && isBusy(agent) && <CancelRun name={name} />}
        </>
      }
    >
      {agent === undefined ? (
        <Notice isFailure title="There is no such agent.">
          The list shows all agents that the server runs.
        </Notice>
      ) : (
        <Chat agent={agent} />
      )}
    </Panel>
  );
}

function CancelRun({ name }: { readonly name: string }): ReactNode {
  const { client } = useConnection();
  const may = useHasScope();
  if (!may("execute")) return null;
  return <CancelAction text="Cancel the run" cancel={() => client.call("cancelAgent", { params: { agentName: name } })} />;
}

const newLog = (): ChatLog => new ChatLog();

function Chat({ agent }: { readonly agent: Agent }): ReactNode {
  const may = useHasScope();
  const followed = useFoldedLog(agent.sessionId, newLog);
  return (
    <>
      <Conversation agent={agent} followed={followed} />
      {may("execute") ? <MessageForm agent={agent} /> : <p className="muted">You may read the conversation, but not write.</p>}
    </>
  );
}

/** Distance from the end, in pixels, within which the conversation scrolls along with new messages. */
const NEAR_END = 80;
const SHOWN = 300;

function Conversation({ agent, followed }: { readonly agent: Agent; readonly followed: FollowedState<ChatLog> }): ReactNode {
  const { log, version, isReady, failure } = followed;
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [shownCount, setMost] = useState(SHOWN);
  useEffect(() => {
    const { current } = frame;
    if (current !== null && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [version, isReady]);
  const items = log.items();
  return (
    <div
      ref={frame}
      className="chat"
      role="log"
      aria-label="Conversation"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
      }}
    >
      {failure !== undefined && (
        <Notice isFailure title={failure.isGone ? "Its session does not exist yet." : "The conversation could not be read."}>
          {failure.text}
        </Notice>
      )}
      {!isReady && items.length === 0 && <Loading />}
      {isReady && failure === undefined && items.length === 0 && log.inboxMessages.size === 0 && log.partialText === "" && (
        <Notice title="No messages yet.">
          <Link href={sessionPath(agent.sessionId)}>Its session</Link> begins with the first message.
        </Notice>
      )}
      {items.length > shownCount && (
        <button type="button" className="button list-more" onClick={() => setMost(shownCount + SHOWN)}>
          Earlier
        </button>
      )}
      {items
        .slice(-shownCount)
        .map((entry) =>
          entry.kind === "message" ? (
            <ChatMessage key={entry.id} entry={entry} />
          ) : (
            <ChatCall key={`${entry.id} ${entry.result === undefined}`} entry={entry} log={log.calls} sessionId={agent.sessionId} />
          ),
        )}
      {log.partialText !== "" && <PartialMessage text={log.partialText} isRunning={isBusy(agent)} />}
      {[...log.inboxMessages].map(([id, text]) => (
        <div key={id} className="chat-message chat-user chat-waiting">
          <p className="chat-role">waits for the agent</p>
          <p className="prose">
            <UntrustedText text={text} maxLength={20_000} />
          </p>
        </div>
      ))}
      {isBusy(agent) && (
        <p className="muted" role="status">
          {agent.state === "waiting" ? "A call waits for approval." : "The agent is working…"}
        </p>
      )}
    </div>
  );
}

function MessageForm({ agent: { name, state } }: { readonly agent: Agent }): ReactNode {
  const { client } = useConnection();
  const queries = useQueryClient();
  const keys = useRequestKeys();
  const [text, setText] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: (content: string) =>
      keys.send(content, (idempotencyKey) =>
        client.call("sendToAgent", { params: { agentName: name }, body: { content }, idempotencyKey }),
      ),
    onMutate: () => setText(""), // text that is typed from now on is the next message
    onError: (_, content) => setText((now) => (now === "" ? content : `${content}\n${now}`)),
    onSettled: () => queries.invalidateQueries({ queryKey: ["agents"] }),
  });
  const canSend = !isPending && text.trim() !== "";
  return (
    <form
      className="say"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) mutate(text);
      }}
    >
      <label className="field">
        <span className="visually-hidden">Message to the agent</span>
        <textarea
          rows={2}
          value={text}
          placeholder="Message (Enter sends, Shift+Enter begins a line)"
          onChange={({ target }) => {
            if (!isPending) keys.clear(); // an edited text is another message, even with the same words
            setText(target.value);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            if (canSend) mutate(text);
          }}
        />
      </label>
      <ActionButton type="submit" kind="button-main" isOff={!canSend}>
        Send
      </ActionButton>
      {state === "stopped" && <p className="muted">The agent is stopped: messages wait until its program starts it.</p>}
      <InlineFailure error={error} />
    </form>
  );
}

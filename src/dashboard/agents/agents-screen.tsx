/** The agents of the server, and the conversation with the chosen one. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { agentPath } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Notice, ScreenHeader } from "../show/basic-components.tsx";
import { useListKeys } from "../show/use-list-keys.ts";
import { useTitle } from "../show/use-title.ts";
import { AgentPanel } from "./agent-panel.tsx";
import { AgentState, type Agent } from "./agent-state.tsx";

const EVERY_MS = 2_000;

export function AgentsScreen({ agentName }: { readonly agentName: string | undefined }): ReactNode {
  const { client } = useConnection();
  const { data, error } = useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => client.call("listAgents", { signal }),
    refetchInterval: EVERY_MS,
  });
  useTitle("Agents · Haft");
  const isChosen = agentName !== undefined && agentName !== "";
  const agents = data?.agents ?? [];
  return (
    <div className={isChosen ? "split with-panel with-wide-panel" : "split"}>
      <div className="split-main">
        <ScreenHeader title="Agents" />
        <ReadState title="The agents could not be read." error={error} data={data} />
        {data !== undefined && agents.length === 0 && (
          <Notice title="There are no agents.">
            Start the server with one: <code>haft serve --agent clerk</code>, or <code>createServer(runtime, {"{ agents }"})</code> in a
            program.
          </Notice>
        )}
        {agents.length > 0 && <AgentList agents={agents} agentName={agentName} />}
      </div>
      {isChosen && data !== undefined && (
        <AgentPanel key={agentName} name={agentName} agent={agents.find(({ name }) => name === agentName)} />
      )}
    </div>
  );
}

function AgentList({ agents, agentName }: { readonly agents: readonly Agent[]; readonly agentName: string | undefined }): ReactNode {
  const keys = useListKeys();
  return (
    <ul className="cards" onKeyDown={keys}>
      {agents.map((agent) => (
        <li key={agent.name}>
          <Link href={agentPath(agent.name)} className="card" data-row="" aria-current={agent.name === agentName ? "true" : undefined}>
            <span className="card-title">
              <b>
                <UntrustedText text={agent.name} maxLength={80} />
              </b>
              <AgentState agent={agent} />
            </span>
            <span className="card-text muted">
              <UntrustedText text={agent.sessionId} maxLength={80} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** The whole page, and the screen for each address. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Activity, Suspense, useState, type ReactNode } from "react";
import { Redirect, Router } from "wouter";
import { ApiError } from "../client/client.ts";
import { ApprovalsScreen } from "./approvals/approvals-screen.tsx";
import { FileFrame } from "./file/file-frame.tsx";
import { FileRoute, useDroppedFiles } from "./file/file-route.tsx";
import { HealthScreen } from "./health/health-screen.tsx";
import { JobsScreen } from "./jobs/jobs-screen.tsx";
import { Connection } from "./server/connection.ts";
import { ConnectionContext, useConnectionState } from "./server/use-connection.ts";
import { SessionsScreen } from "./sessions/sessions-screen.tsx";
import { ScreenErrorBoundary } from "./shell/screen-error-boundary.tsx";
import { KeyScreen } from "./shell/key-screen.tsx";
import { NotFoundScreen } from "./shell/not-found-screen.tsx";
import { Shell } from "./shell/shell.tsx";
import { basePath, usePathParts } from "./show/address.ts";
import { lazyScreen } from "./show/lazy-screen.ts";
import { Loading } from "./show/basic-components.tsx";
import { TimelineScreen } from "./timeline/timeline-screen.tsx";
import { ToolsScreen } from "./tools/tools-screen.tsx";

// Loaded when they are first shown.
const AgentsScreen = lazyScreen(async () => (await import("./agents/agents-screen.tsx")).AgentsScreen);
const AuditScreen = lazyScreen(async () => (await import("./audit/audit-screen.tsx")).AuditScreen);
const DiffScreen = lazyScreen(async () => (await import("./diff/diff-screen.tsx")).DiffScreen);
const ProcessesScreen = lazyScreen(async () => (await import("./processes/processes-screen.tsx")).ProcessesScreen);
const ReplayScreen = lazyScreen(async () => (await import("./replay/replay-screen.tsx")).ReplayScreen);
const SchedulesScreen = lazyScreen(async () => (await import("./schedules/schedules-screen.tsx")).SchedulesScreen);

export function App(): ReactNode {
  const [connection] = useState(() => new Connection());
  return (
    <ConnectionContext value={connection}>
      <ScreenErrorBoundary>
        <Router base={basePath()}>
          <KeyGate />
        </Router>
      </ScreenErrorBoundary>
    </ConnectionContext>
  );
}

/**
 * Shows the screens, or asks for a key. Data that was read for one principal is dropped with it. When a key ends, the screens are hidden with what
 * was typed in them, for the next key of the same principal.
 */
function KeyGate(): ReactNode {
  const { key, keepsScreens, generation } = useConnectionState();
  const parts = usePathParts();
  const [name] = parts;
  const needsKey = key === undefined && name !== "file";
  useDroppedFiles(!(needsKey && keepsScreens)); // a file would replace the screens that are kept
  if (findScreen(parts) === undefined) return <NotFoundScreen />;
  return (
    <>
      {(!needsKey || keepsScreens) && (
        <Activity mode={needsKey ? "hidden" : "visible"}>
          <Screens key={generation} Frame={key === undefined && !needsKey ? FileFrame : Shell} />
        </Activity>
      )}
      {needsKey && <KeyScreen />}
    </>
  );
}

function Screens({ Frame }: { readonly Frame: typeof Shell }): ReactNode {
  const [queries] = useState(createQueryClient);
  const [name = "", id, ...rest] = usePathParts();
  return (
    <QueryClientProvider client={queries}>
      <Frame>
        <ScreenErrorBoundary place={`${name}/${id}`}>
          <Suspense fallback={<Loading />}>{findScreen([name, id, ...rest])}</Suspense>
        </ScreenErrorBoundary>
      </Frame>
    </QueryClientProvider>
  );
}

/** Returns the screen of an address; undefined if there is none. The `key` makes a new screen for another id, without state of the last one. */
function findScreen([name = "", id, part, callId]: readonly (string | undefined)[]): ReactNode {
  if (name === "") return <Redirect to="/sessions" replace />;
  const isSession = name === "sessions" && id !== undefined && id !== "";
  if (isSession && part === "replay") return <ReplayScreen key={id} sessionId={id} />;
  if (isSession && part === "diff") return <DiffScreen key={id} sessionId={id} />;
  if (isSession) return <TimelineScreen key={id} sessionId={id} callId={part === "calls" ? callId : undefined} />;
  if (name === "sessions") return <SessionsScreen />;
  if (name === "approvals") return <ApprovalsScreen callId={id} />;
  if (name === "tools") return <ToolsScreen toolName={id} />;
  if (name === "jobs") return <JobsScreen jobId={id} />;
  if (name === "file") return <FileRoute callId={id === "calls" ? part : undefined} />;
  if (name === "agents") return <AgentsScreen agentName={id} />;
  if (name === "schedules") return <SchedulesScreen scheduleId={id} />;
  if (name === "processes") return <ProcessesScreen processId={id} />;
  if (name === "audit") return <AuditScreen />;
  if (name === "health") return <HealthScreen />;
  return undefined;
}

function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // "Offline" in a browser is about the network of its machine: a server on the same machine still answers. Requests that wait for the network would
      // hide that the server does not answer, and an answer to a question would be sent hours later.
      mutations: { networkMode: "always" },
      queries: {
        networkMode: "always",
        refetchOnReconnect: true,
        staleTime: 1_000,
        // The client repeats requests itself.
        retry: false,
        refetchOnWindowFocus: true,
        throwOnError: (error) => !(error instanceof ApiError),
      },
    },
  });
}

/** The table of routes as a page of the documentation. */
import { API, OPERATION_IDS } from "../src/server/api.ts";
import type { Route } from "../src/server/api/requests/route.ts";

const HEAD = `# HTTP API

What \`haft serve\` and \`createServer\` of [\`haft/server\`](api/haft-server.md) answer; the guide is [serve over HTTP](../guides/serve-over-http.md). The schemas of all
requests and answers are in the document that \`GET /openapi.json\` gives. A route needs the scope that its row names; \`admin\` includes all, and \`any\` gives each principal what is its own. Routes with a key take an
\`Idempotency-Key\`. Routes that stream give events to those who send \`Accept: text/event-stream\`.

Errors are \`application/problem+json\` (RFC 9457): \`type\` is \`urn:haft:error:\` and a [code](errors.md), and \`code\`, \`retryable\`, \`outcome\`, \`hint\`, \`details\` and
\`callId\` say the rest. The failure of a call is in its result, and never the status of the response.
`;

const HEADINGS: Readonly<Record<string, string>> = {
  tools: "Tools",
  execute: "Calls",
  sessions: "Sessions",
  approvals: "Approvals",
  jobs: "Jobs",
  agents: "Agents",
  channels: "Channels",
  info: "Server",
};

/** The whole page. */
export function httpApiPage(): string {
  let page = HEAD;
  let table: string[][] = [];
  const end = (): void => {
    if (table.length > 0) page += `\n${tableText([["operation", "route", "scope", "says"], ...table])}`;
    table = [];
  };
  for (const id of OPERATION_IDS) {
    const route: Route = API[id];
    const heading = HEADINGS[route.path.split("/")[2] ?? ""];
    if (heading !== undefined && !page.includes(`\n## ${heading}\n`)) {
      end();
      page += `\n## ${heading}\n`;
    }
    table.push([`\`${id}\``, `\`${route.method} ${route.path}\``, route.scope, `${route.summary}${notesOf(route)}`]);
  }
  end();
  return page;
}

function notesOf({ query, keyed, streams, mayTakeLong }: Route): string {
  const notes = [
    ...(query === undefined ? [] : [`query: ${Object.keys(query).join(", ")}`]),
    ...(keyed === true ? ["key"] : []),
    ...(streams === true ? ["stream"] : []),
    ...(mayTakeLong === true ? ["202"] : []),
  ];
  return notes.length === 0 ? "" : ` (${notes.join("; ")})`;
}

function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const lines = rows.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  lines.splice(1, 0, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`);
  return `${lines.join("\n")}\n`;
}

/** Writes docs/reference/errors.md from the one table of error codes; `npm run docs` runs it. */
import { writeFileSync } from "node:fs";
import { ERROR_CODES, type ErrorCodeInfo } from "../src/core/error-codes.ts";

const INTRODUCTION = `# Error codes

<!-- Generated from src/core/error-codes.ts by \`npm run docs\`. Do not edit. -->

Every failure of a call carries one of these codes, and there are no others. *Who* can act on it, whether the same call may
succeed later unchanged (*retry*), and what is known of its effect (*outcome*) are defaults: the thrower of the error may say otherwise.
The last three columns are what the code becomes over HTTP, in JSON-RPC and as the exit code of \`haft\`.
`;

/** The whole page as Markdown. */
export function errorsPage(): string {
  const codes = Object.entries<ErrorCodeInfo>(ERROR_CODES);
  const rows = codes.map(([code, info]) => [
    `\`${code}\``,
    info.when,
    info.actor,
    info.category,
    info.retryable ? "yes" : "no",
    info.outcome.replaceAll("_", " "),
    info.http,
    info.jsonRpc,
    info.exit,
  ]);
  return `${INTRODUCTION}\n${table(["code", "when", "who", "category", "retry", "outcome", "HTTP", "JSON-RPC", "exit"], rows)}\n${byExit(codes)}`;
}

function byExit(codes: readonly (readonly [string, ErrorCodeInfo])[]): string {
  const groups = Map.groupBy(codes, ([, info]) => info.exit);
  const rows = [...groups]
    .toSorted(([one], [other]) => one - other)
    .map(([exit, members]) => [exit, members.map(([code]) => `\`${code}\``).join(", ")]);
  return `## By exit code\n\n\`haft\` ends with 0 when every call ended well.\n\n${table(["exit", "codes"], rows)}`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) writeFileSync(new URL("../docs/reference/errors.md", import.meta.url), errorsPage());

import { copyFileSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { testInCI } from "../test-in-ci.ts";
import { demoPicture, pictureLines } from "../../scripts/demo-picture.ts";
import { PATIENCE_MS, SOURCE, folderWith, haft, masked } from "./run-haft.ts";

const examples = fileURLToPath(new URL("../../examples/", import.meta.url));
const server = fileURLToPath(new URL("dist/index.js", import.meta.resolve("@modelcontextprotocol/server-everything/package.json")));

describe.concurrent("the demo run by npm start", { timeout: 3 * PATIENCE_MS }, () => {
  testInCI("prints its steps, simulates, survives a kill, and leaves no files behind", async () => {
    const folder = folderWith({});
    const { exitCode, stdout, stderr } = await haft(["--once"], {
      folder,
      program: join(examples, "demo.ts"),
      environment: { TMPDIR: folder },
    });
    expect({ exitCode, stderr, left: readdirSync(folder) }).toEqual({ exitCode: 0, stderr: "", left: [] });
    const [first = "", books = "", flights = "", mail = "", invoice = "", resume = "", tried = "", trip = "", rest = ""] =
      stdout.split(/\n\n\n\$ haft .*\n/u);
    expect(first.slice(first.indexOf("summary\n"))).toBe(`summary
  calls       16  14 ok, 2 error (1 not_found, 1 timeout)
  attempts    17  2 of them retries
  repairs      1
  approvals    1  1 allowed
  orphans      1  1 ended late, 0 still running
  origins     16  15 live (9 files, 5 demo, 1 everything), 1 never run`);
    const story = [
      'repaired $.days: "3" → 3',
      "↻ #12 attempt 2 failed",
      "The sum of 40 and 2 is 42.",
      'No tool "demo::wether". Did you mean "demo::weather"?',
      "! #14 is cut off but still running",
      "demo::slow_report did not answer within 500 ms.",
      "? #16 the approver of the conversation answers allow-once",
    ];
    expect(story.filter((moment) => !first.includes(moment))).toEqual([]);
    const picture = readFileSync(new URL("../../docs/demo.svg", import.meta.url), "utf8");
    expect(textsOf(picture)).toEqual(textsOf(demoPicture(pictureLines(stdout))));
    expect(books).toContain("✓ #2  library::lendBook");
    expect(books).toContain("HTTP 409");
    expect(books).toContain("The C Programming Language is lent to somebody else.");
    expect(flights).toContain("✓ #3  flights::get_booking");
    expect(flights).toContain('There is no booking "B21494": it was removed earlier in this session.');
    expect(flights).toContain("origins      5  5 simulated (5 flights)");
    expect(mail.match(/send_mail.* simulated {2}\{/gu)).toHaveLength(2);
    expect(mail).toContain("\nNothing was changed.");
    expect(invoice.trimEnd().split("\n").at(-1)).toMatch(/^ {2}→ #1 {2}pay /u);
    expect(masked(resume).replace(/\d+ events/u, "# events")).toBe(`  · session invoice: continues after # events
  → #1  pay          {"invoice":4711,"euros":120}
  ✓ #1  office::pay # ms  Paid; the bank has it once.
  · 1 call was interrupted, and had already taken effect`);
    expect(tried.match(/ {4}✓ #\d {2}trip::book .* simulated {2}\{/gu)).toHaveLength(3);
    expect(tried).toContain("\nNothing was changed.");
    expect(trip.match(/\? #1 {2}waits for approval/gu)).toHaveLength(1);
    expect(trip.trimEnd().split("\n").at(-1)).toMatch(/^ {4}→ #3 {2}trip::book .*"hotel"/u);
    expect(rest.match(/ {4}→ #\d {2}trip::book .*/gu)?.map((line) => JSON.parse(line.slice(line.indexOf("{"))).what)).toEqual([
      "hotel",
      "table",
    ]);
    expect(rest).toMatch(/✓ #1 {2}program::run_program .*"number":1,"what":"train"/u);
    expect(rest).toContain("2 calls were interrupted: 1 was run again, 1 had already taken effect");
  });

  testInCI("runs five parallel edits of one file, and all survive", async () => {
    const workspace = folderWith({});
    for (const file of ["shopping.md", "guests.md"]) copyFileSync(join(examples, "demo/workspace", file), join(workspace, file));
    const { exitCode, stdout } = await haft(
      ["run", join(examples, "demo/conversation.jsonl"), "--config", join(examples, "demo/haft.toml"), "--json"],
      {
        folder: workspace,
        program: SOURCE, // the tools of the demo import "haft", which is its source here
        environment: { HAFT_DEMO_WORKSPACE: workspace, HAFT_DEMO_MCP_SERVER: server },
      },
    );
    const statuses = stdout
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(line).status);
    expect({ exitCode, statuses, list: readFileSync(join(workspace, "shopping.md"), "utf8") }).toEqual({
      exitCode: 0,
      statuses: [...Array.from({ length: 13 }, () => "ok"), "error", "error", "ok"],
      list: "# Shopping\n\n- [x] milk\n- [x] bread\n- [x] apples\n- [x] coffee\n- [x] rice\n",
    });
  });
});

/** The lines of a picture, sorted: calls that run side by side end in any order. */
function textsOf(picture: string): readonly string[] {
  return [...picture.matchAll(/>([^<]*)<\/text>/gu)].map(([, text = ""]) => text).toSorted();
}

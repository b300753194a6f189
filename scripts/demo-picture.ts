/** Draws docs/demo.svg, a terminal with a part of what `npm start` prints: `npm run picture`. Times are left out, so that it is the same each time. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where each part of the picture begins, and its last line. */
const PARTS = [
  ["model   Five edits of one file", "  · all 6 answered"],
  ["$ haft run invoice.jsonl", "  → #1  pay"],
  ["$ haft sessions resume invoice", "  · 1 call was interrupted"],
] as const;
const COLUMNS = 112;
const LINE_HEIGHT = 18;
const CHARACTER_WIDTH = 7.8;
const MARGIN = 16;
const COLOURS: readonly (readonly [RegExp, string])[] = [
  [/^\s*✓/u, "#7ee787"],
  [/^\s*✗/u, "#ff7b72"],
  [/^\s*→/u, "#79c0ff"],
  [/^\$/u, "#ffffff"],
  [/^(?:model|user)/u, "#d2a8ff"],
  [/^ {8}|^\s*·/u, "#8b949e"],
];

/** What the demo printed, without the times, which differ from run to run. */
function withoutTimes(output: string): readonly string[] {
  return output.split("\n").map((line) =>
    line
      .replaceAll(/(?: in)? +\d+(?:\.\d+)? m?s\b/gu, "")
      .replace(/ after \d+ events$/u, "")
      .trimEnd(),
  );
}

/** The lines of the picture. */
export function pictureLines(output: string): readonly string[] {
  const lines = withoutTimes(output);
  return PARTS.flatMap(([first, last], part) => {
    const start = lines.findIndex((line) => line.startsWith(first));
    const end = lines.findIndex((line, index) => index >= start && line.startsWith(last));
    if (start < 0 || end < 0) throw new Error(`The demo does not print "${start < 0 ? first : last}".`);
    return [...(part === 0 ? ["$ npm start"] : [""]), ...lines.slice(start, end + 1)];
  });
}

/** The picture as SVG. */
export function demoPicture(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN);
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN;
  const texts = lines.map((line, index) => {
    const [, colour = "#c9d1d9"] = COLOURS.find(([pattern]) => pattern.test(line)) ?? [];
    return `<text x="${MARGIN}" y="${MARGIN + (index + 0.75) * LINE_HEIGHT}" fill="${colour}">${escape(cut(line))}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A part of what npm start prints</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" style="white-space: pre">
${texts.join("\n")}
</g>
</svg>
`;
}

function cut(line: string): string {
  return line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const output = execFileSync(process.execPath, ["--conditions=haft-source", "examples/demo.ts"], { cwd: root, encoding: "utf8" });
  writeFileSync(new URL("../docs/demo.svg", import.meta.url), demoPicture(pictureLines(output)));
}

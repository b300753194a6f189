import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { resultText } from "../../src/core/result.ts";
import { notebookToolset } from "../../src/toolsets/notebook.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

const NOTEBOOK = {
  cells: [
    { id: "a1", cell_type: "markdown", metadata: {}, source: ["# Sales\n", "of May"] },
    {
      id: "a2",
      cell_type: "code",
      execution_count: 3,
      metadata: { tags: ["keep"] },
      outputs: [
        { output_type: "stream", name: "stdout", text: ["total\n", "42\n"] },
        { output_type: "execute_result", data: { "image/png": "iVBORw0", "text/html": "<b>" }, metadata: {} },
        { output_type: "error", ename: "ValueError", evalue: "no rows", traceback: [] },
      ],
      source: "print(total)",
    },
  ],
  metadata: { kernelspec: { name: "python3" } },
  nbformat: 4,
  nbformat_minor: 5,
};

const RAW = '  {\n   "cell_type": "raw",\n   "metadata": {},\n   "source": []\n  }';

function bench(content: unknown = NOTEBOOK) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-notebook-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "sales.ipynb");
  writeFileSync(path, typeof content === "string" ? content : `${JSON.stringify(content, null, 1)}\n`);
  const { runtime } = testRuntime({ toolsets: [notebookToolset({ root: folder })] });
  const session = runtime.session("s");
  const use = (name: string, input: object): Promise<ToolResult> => session.execute({ name, input: { path: "sales.ipynb", ...input } });
  return { use, text: () => readFileSync(path, "utf8"), document: () => JSON.parse(readFileSync(path, "utf8")) as typeof NOTEBOOK, path };
}

describe("F1.72 notebook_read", () => {
  test("F1.72 cells are numbered, with the text of their outputs; images are named by type", async () => {
    const { use } = bench();
    expect(resultText(await use("notebook_read", {}))).toBe(
      "[0] markdown\n# Sales\nof May\n\n[1] code\nprint(total)\noutput: total\n42\noutput: (image/png, text/html)\noutput: ValueError: no rows",
    );
    expect(resultText(await use("notebook_read", { from: 0, count: 1 }))).toContain("(1 more cell; continue with from: 1)");
    expect((await use("notebook_read", { from: 2 })).error?.message).toBe('"sales.ipynb" has 2 cells; there is no cell 2.');
  });

  test.each([
    ["not JSON", "{", /cannot be read as a notebook: Not valid JSON/u],
    ["one with a key twice", '{"nbformat": 4, "x": 1, "x": 2}', /is given twice in one object\.$/u],
    ["an array", "[]", /is not a JSON object/u],
    ["an old one", { nbformat: 3, worksheets: [] }, /its nbformat is 3, and only 4 is supported/u],
    ["one without cells", { nbformat: 4, cells: {} }, /"cells" is not an array/u],
    ["one with an odd cell", { nbformat: 4, cells: [{ cell_type: "__proto__" }] }, /its cell 0 is not a code, markdown or raw cell/u],
  ])("F1.72 %s is rejected with the reason", async (_what, content, message) => {
    const { use, text } = bench(content);
    const before = text();
    for (const name of ["notebook_read", "notebook_edit"])
      expect((await use(name, { cell: 0, source: "x" })).error?.message).toMatch(name === "notebook_read" ? message : /./u);
    expect(text()).toBe(before);
  });
});

describe("F1.72 notebook_edit", () => {
  test("F1.72 a version written as 4.0 is accepted and stays written so", async () => {
    const { use, text } = bench(
      JSON.stringify(NOTEBOOK, null, 1).replace('"nbformat": 4', '"nbformat": 4.0').replace('minor": 5', 'minor": 5.0'),
    );
    await use("notebook_read", {});
    expect((await use("notebook_edit", { cell: 0, action: "insert", source: "x" })).status).toBe("ok");
    expect(text()).toMatch(/"nbformat": 4\.0,\n "nbformat_minor": 5\.0/u);
    expect(text().match(/"id":/gu)).toHaveLength(NOTEBOOK.cells.length + 1);
  });

  test("F1.72 a replaced code cell keeps its id and metadata and loses its outputs; the rest of the file is unchanged", async () => {
    const { use, document, text } = bench();
    await use("notebook_read", {});
    expect((await use("notebook_edit", { cell: 1, source: "a = 1\nb = 2" })).output).toBe(
      "Replaced cell 1 of sales.ipynb, which has 2 cells now.",
    );
    const [first, second] = document().cells;
    expect([first, document().metadata]).toEqual([NOTEBOOK.cells[0], NOTEBOOK.metadata]);
    expect(second).toEqual({
      id: "a2",
      cell_type: "code",
      metadata: { tags: ["keep"] },
      source: ["a = 1\n", "b = 2"],
      execution_count: null,
      outputs: [],
    });
    expect(text()).toMatch(/^\{\n "cells"[^]*\n\}\n$/u);
  });

  test("F1.72 numbers that JavaScript would write differently are unchanged", async () => {
    const output = { output_type: "display_data", metadata: {}, data: { "application/json": { long: 1, float: 2, small: 3 } } };
    const content = JSON.stringify({ ...NOTEBOOK, cells: [...NOTEBOOK.cells, { ...NOTEBOOK.cells[1], id: "a3", outputs: [output] }] })
      .replace('"long":1', '"long":12345678901234567890')
      .replace('"float":2', '"float":12.0')
      .replace('"small":3', '"small":1e-05');
    const { use, text } = bench(content);
    expect((await use("notebook_read", {})).status).toBe("ok");
    expect((await use("notebook_edit", { cell: 0, source: "# Sales" })).status).toBe("ok");
    expect(text()).toContain('"application/json":{"long":12345678901234567890,"float":12.0,"small":1e-05}');
  });

  test("F1.72 everything but the cell stays as it is written, also keys that are numbers and the order of the keys", async () => {
    const output = '{"data": {"application/json": {"10": 1, "2": [1, 2]}}, "metadata": {}, "output_type": "display_data"}';
    const code = (source: string, outputs: string): string =>
      `  {\n   "cell_type": "code",\n   "execution_count": null,\n   "metadata": {},\n   "outputs": ${outputs},\n   "source": ${source}\n  }`;
    const wrap = (...cells: readonly string[]): string =>
      `{\n "cells": [\n${cells.join(",\n")}\n ],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 4\n}\n`;
    const [first, second] = [code('["a"]', `[${output}]`), code('["b"]', `[${output}]`)];
    const { use, text } = bench(wrap(first, second));
    await use("notebook_read", {});
    const changes: readonly (readonly [object, string])[] = [
      [{ cell: 1, source: "c" }, wrap(first, code('[\n    "c"\n   ]', "[]"))],
      [{ cell: 1, action: "delete" }, wrap(first)],
      [{ cell: 0, action: "insert", type: "raw", source: "" }, wrap(RAW, first)],
      [{ cell: 2, action: "insert", type: "raw", source: "" }, wrap(RAW, first, RAW)],
      [{ cell: 0, action: "delete" }, wrap(first, RAW)],
    ];
    for (const [change, after] of changes) {
      expect((await use("notebook_edit", change)).status).toBe("ok");
      expect(text()).toBe(after);
    }
    for (let cells = 2; cells > 0; cells--) await use("notebook_edit", { cell: 0, action: "delete" });
    expect(text()).toContain(' "cells": [],\n');
  });

  test("F1.72 the attachments of a cell are kept, unless it becomes a code cell, which may have none", async () => {
    const attachments = { "a.png": { "image/png": "iVBORw0" } };
    const cell = { id: "a1", cell_type: "markdown", attachments, metadata: {}, source: ["![](attachment:a.png)"] };
    const { use, document } = bench({ ...NOTEBOOK, cells: [cell] });
    await use("notebook_read", {});
    for (const type of [{}, { type: "raw" }, { type: "code" }]) {
      await use("notebook_edit", { cell: 0, source: "x", ...type });
      const { cell_type: cellType, ...rest } = document().cells[0] ?? {};
      const kept = { id: "a1", metadata: {}, source: ["x"] };
      expect([cellType, rest]).toEqual([
        type.type ?? "markdown",
        type.type === "code" ? { ...kept, execution_count: null, outputs: [] } : { ...kept, attachments },
      ]);
    }
  });

  test("F1.72 cells can be inserted at any place and deleted; new ones have a valid id", async () => {
    const { use, document } = bench();
    await use("notebook_read", {});
    await use("notebook_edit", { cell: 2, action: "insert", source: "end", type: "markdown" });
    await use("notebook_edit", { cell: 0, action: "insert", source: "start" });
    expect(document().cells.map(({ cell_type, source }) => `${cell_type} ${[source].flat().join("")}`)).toEqual([
      "code start",
      "markdown # Sales\nof May",
      "code print(total)",
      "markdown end",
    ]);
    const ids = document().cells.map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => /^[\w-]{1,64}$/u.test(id))).toBe(true);
    await use("notebook_edit", { cell: 1, action: "delete" });
    expect(document().cells).toHaveLength(3);
  });

  test("F1.72 an unread notebook, an unknown cell and a missing source are rejected, and the file is unchanged", async () => {
    const { use, text } = bench();
    const before = text();
    expect((await use("notebook_edit", { cell: 0, source: "x" })).error?.message).toMatch(/was not read in this session/u);
    await use("notebook_read", {});
    expect((await use("notebook_edit", { cell: 3, action: "insert", source: "x" })).error?.message).toBe(
      '"sales.ipynb" has 2 cells; there is no cell 3 to insert before.',
    );
    expect((await use("notebook_edit", { cell: 2, action: "delete" })).error?.message).toContain("there is no cell 2 to delete");
    expect((await use("notebook_edit", { cell: 0 })).error?.details).toEqual(['"source" is missing: replace and insert need it.']);
    expect((await use("notebook_edit", { path: "../x.ipynb", cell: 0, source: "" })).error?.code).toBe("permission_denied");
    expect((await use("notebook_edit", { path: "new.ipynb", cell: 0, source: "" })).error?.message).toBe('"new.ipynb" does not exist.');
    expect(text()).toBe(before);
  });
});

/** Notes of a loop name tools as the model was given them, whichever way it was. */
import { expect, test } from "vitest";
import { textToolsModel } from "../../src/model/text-model.ts";
import { meteredModel } from "../../src/model/metered-model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { UsageMeter } from "../../src/model/usage-meter.ts";
import { TEXT_FORMATS, textFormat } from "../../src/wire/text/formats.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { notes, testLoop } from "./bench-loop.ts";

test.each([...TEXT_FORMATS.keys()])(
  "F3.37 with the text format %s, the prompt and all notes use the same name for a tool",
  async (name) => {
    const format = textFormat(name);
    const offered = format.nameOf({ name: "files::list_all" });
    const text = format.writeCalls([{ id: "c1", name: offered, input: {} }]);
    const scripted = scriptedModel((_request, index) => ({ text: index < 3 ? text : "Done." }));
    const model = meteredModel(textToolsModel(scripted, { format }), new UsageMeter());
    const failing = tool("list_all", () => {
      throw new Error("no such table");
    });
    const { loop } = testLoop({ script: [], model, runtime: { toolsets: [{ name: "files", tools: [failing] }] } });

    await loop.run("go");
    const said = scripted.requests.at(-1);
    expect(said?.system).toContain(JSON.stringify(offered));
    expect(notes(said).map((note) => note.split(" has had ")[0])).toEqual([offered]);
  },
);

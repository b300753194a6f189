/** `type = "chains"`: chains of tool calls, each offered as one tool. */
import { createChain, type Chain, type ChainToolOptions } from "../../compose/chain/chain.ts";
import type { ChainStep } from "../../compose/chain/chain-step.ts";
import { describeThrown } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { TableReader } from "../table-reader.ts";
import { readNamed } from "./named-entries.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

/** One chain of a configuration. */
export interface NamedChain {
  readonly chain: Chain;
  /** How the chain is offered as a tool. */
  readonly offer: ChainToolOptions;
}

export interface ChainsConfig extends CommonConfig {
  readonly type: "chains";
  /** The chains by name. */
  readonly chains: ReadonlyMap<string, NamedChain>;
}

export const chainsType: ToolsetType<ChainsConfig> = {
  keyAtFault: () => "chains",
  read(table, common) {
    const chains = readNamed(table, "chains", readChain);
    return chains === undefined ? undefined : { type: "chains", ...common, chains };
  },
  build({ name }, { chains }) {
    return { toolset: { name, tools: [...chains.values()].map(({ chain, offer }) => chain.toTool(offer)) } };
  },
};

function readChain(table: TableReader, name: string): NamedChain | undefined {
  const description = table.requiredText("description", "what the model reads");
  const steps = table.tables("steps");
  if (steps === undefined && !table.has("steps")) table.report(undefined, '"steps" is missing: the list of steps.');
  const chain = createChain();
  for (const step of steps ?? []) addStep(chain, step);
  if (steps?.length === 0) table.report("steps", "is empty: a chain has at least one step.");
  const inputSchema = table.value(table.firstPresent(["inputSchema", "input_schema"]));
  const more = omitUndefined({
    title: table.text("title"),
    answerKey: table.text(table.firstPresent(["answerKey", "answer_key"])),
    stopOnFailure: table.flag(table.firstPresent(["stopOnFailure", "stop_on_failure"])),
  });
  if (description === undefined) return undefined;
  // The schema is checked when the tool is registered.
  const schema = inputSchema === undefined ? {} : { inputSchema: inputSchema as NonNullable<ChainToolOptions["inputSchema"]> };
  return { chain, offer: { name, description, ...schema, ...more } };
}

function addStep(chain: Chain, table: TableReader): void {
  const tool = table.requiredText(table.firstPresent(["tool", "tool_name"]), "the name of the tool that the step calls");
  const mappingKey = table.firstPresent(["inputMapping", "input_mapping"]);
  const inputMapping = table.table(mappingKey);
  const outputKey = table.text(table.firstPresent(["outputKey", "output_key"]));
  table.reportUnknownKeys();
  if (tool === undefined) return;
  const mapping = inputMapping?.rest() as ChainStep["inputMapping"]; // `addStep` checks each source
  try {
    chain.addStep({ tool, ...omitUndefined({ inputMapping: mapping, outputKey }) });
  } catch (thrown: unknown) {
    table.report(inputMapping === undefined ? undefined : mappingKey, describeThrown(thrown));
  }
}

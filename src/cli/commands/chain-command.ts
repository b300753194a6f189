/** `haft chain`: chains of tools that are called one after the other. */
import type { GroupBody } from "../command.ts";
import { checkChains } from "./chain/check-chains.ts";
import { runChain } from "./chain/run-chain.ts";

export const chainCommand: GroupBody = {
  details: [
    'A chain is written in the configuration, in a toolset with type = "chains". Its',
    "steps call tools, each with the answers of the steps before it.",
  ],
  commands: [runChain, checkChains],
};

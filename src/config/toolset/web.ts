/** `type = "web"`: the toolset that reads web pages and searches with a provider. */
import { COUNT } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { findAllowPrivateFault } from "../../net/address-guard.ts";
import type { SearchProviderOptions, WebOptions } from "../../toolsets/web/web-options.ts";
import { SEARCH_PROVIDER_NAMES } from "../../toolsets/web/search-provider.ts";
import type { TableReader } from "../table-reader.ts";
import type { ResolveOptions, Variables } from "../variables.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface WebConfig extends CommonConfig, Omit<WebOptions, "name" | "search"> {
  readonly type: "web";
  readonly search?: SearchProviderOptions;
}

export const webType: ToolsetType<WebConfig> = {
  keyAtFault: () => "search",
  read: (table, common, { variables }) => ({
    type: "web",
    ...common,
    ...omitUndefined({
      allowPrivate: table.texts("allowPrivate", findAllowPrivateFault),
      maxBytes: table.number("maxBytes", COUNT),
      search: table.section("search", (search) => readSearch(search, variables)),
    }),
  }),
  async build({ name }, { search, allowPrivate, maxBytes }) {
    const { webToolset } = await import("../../toolsets/web.ts");
    return { toolset: webToolset({ name, ...omitUndefined({ search, allowPrivate, maxBytes }) }) };
  },
};

function readSearch(table: TableReader, variables: Variables): SearchProviderOptions | undefined {
  const provider = table.choice("provider", SEARCH_PROVIDER_NAMES, { required: true });
  const apiKey = table.text("apiKey");
  const url = table.text("url");
  if (provider === undefined) return undefined;
  const sent = (text: string | undefined, key: string, options?: ResolveOptions) =>
    text === undefined ? undefined : variables.resolveSent(text, [...table.path, key], options);
  return { provider, ...omitUndefined({ apiKey: sent(apiKey, "apiKey"), url: sent(url, "url", { mustHaveText: true }) }) };
}

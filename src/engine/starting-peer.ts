/** A peer whose server is started when it is used. */
import type { JsonObject } from "../core/base/json.ts";
import type { McpPeer, PeerOptions } from "./mcp/peer.ts";

type Ask = (params: JsonObject, options: PeerOptions) => Promise<JsonObject>;

/** Every request waits for `start` first; its rejections are the request's. Listening and looking start nothing. */
export function startingPeer(peer: McpPeer, start: (signal: AbortSignal) => Promise<void>): McpPeer {
  const started =
    (ask: Ask): Ask =>
    async (params, options) => {
      await start(options.signal);
      return await ask(params, options);
    };
  return {
    get name() {
      return peer.name;
    },
    get identity() {
      return peer.identity;
    },
    listResources: started((params, options) => peer.listResources(params, options)),
    listResourceTemplates: started((params, options) => peer.listResourceTemplates(params, options)),
    readResource: started((params, options) => peer.readResource(params, options)),
    subscribe: started((params, options) => peer.subscribe(params, options)),
    unsubscribe: started((params, options) => peer.unsubscribe(params, options)),
    listPrompts: started((params, options) => peer.listPrompts(params, options)),
    getPrompt: started((params, options) => peer.getPrompt(params, options)),
    complete: started((params, options) => peer.complete(params, options)),
    setLogLevel: started((params, options) => peer.setLogLevel(params, options)),
    onNotification: (listener) => peer.onNotification(listener),
  };
}

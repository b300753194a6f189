/** Reads the services to which `haft serve` sends webhooks. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { WEBHOOK_TYPES, type WebhookType } from "../../core/store/webhook-store.ts";
import { findAllowPrivateFault } from "../../net/address-guard.ts";
import { readKey } from "./model-config.ts";
import { isSafeAddress } from "./serve-config.ts";
import type { TableReader } from "../table-reader.ts";

/** A table of `webhooks`. */
export interface WebhookConfig {
  readonly url: string;
  /** `env:NAME`: the variable that holds the key for signing messages. */
  readonly secret: string;
  /** @default all */
  readonly events?: readonly WebhookType[];
  /** Hosts and networks that the address may use, in addition to public ones. */
  readonly allowPrivate?: readonly string[];
}

/** Reads the webhooks in the order of the file; undefined = it has no such key. Invalid tables are reported and left out. */
export function readWebhooks(root: TableReader): readonly WebhookConfig[] | undefined {
  const urls = new Set<string>();
  return root.tables("webhooks")?.flatMap((table) => {
    const url = table.requiredText("url", "the address that messages are sent to");
    if (url !== undefined && !isSafeAddress(url)) table.report("url", "must be an https address, or one of this machine.");
    if (url !== undefined && urls.has(url)) table.report("url", "is the address of another webhook already.");
    if (url !== undefined) urls.add(url);
    if (!table.has("secret"))
      table.report(undefined, '"secret" is missing: the variable that holds the secret that signs messages, such as env:WEBHOOK_SECRET.');
    const secret = readKey(table, "secret");
    const events = table.choices("events", WEBHOOK_TYPES, "event of webhooks");
    const allowPrivate = table.texts("allowPrivate", findAllowPrivateFault);
    table.reportUnknownKeys();
    return url === undefined || secret === undefined ? [] : [{ url, secret, ...omitUndefined({ events, allowPrivate }) }];
  });
}

/** Limits on the JSON that a tool may answer with. */

/**
 * An answer within these limits takes at most about 100 ms of the event loop in total, from the handler to the model, on a slow core. 50,000 keys of
 * objects with more than 1,000 keys each take as long as 500,000 other values.
 */
export const ANSWER_LIMITS = Object.freeze({ maxNodes: 500_000, maxWideKeys: 50_000 });

/** Returns a predicate that selects calls by their ids. @param callIds undefined = all */
export function createCallFilter(
  callIds: readonly string[] | undefined,
  exceptCallIds: readonly string[] = [],
): (callId: string) => boolean {
  const only = callIds === undefined ? undefined : new Set(callIds);
  const except = new Set(exceptCallIds);
  return (callId) => only?.has(callId) !== false && !except.has(callId);
}

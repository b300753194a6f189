/** Actions of the current screen, for the palette. */
import { useEffect, useRef } from "react";

export interface ScreenAction {
  readonly name: string;
  readonly run: () => void;
}

const actionSources = new Set<() => readonly ScreenAction[]>();

/** Offers actions while the component is mounted. */
export function useScreenActions(actions: readonly ScreenAction[]): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const listActions = (): readonly ScreenAction[] => latest.current;
    actionSources.add(listActions);
    return () => {
      actionSources.delete(listActions);
    };
  }, []);
}

export function listScreenActions(): readonly ScreenAction[] {
  return [...actionSources].flatMap((listActions) => listActions());
}

/** The screen for files, loaded when it is first shown, and a hook for files that are dropped on any screen. */
import { Suspense, useEffect, useRef, type ReactNode } from "react";
import { useGo } from "../show/address.ts";
import { lazyScreen } from "../show/lazy-screen.ts";
import { Loading } from "../show/basic-components.tsx";

const Screen = lazyScreen(async () => (await import("./file-screen.tsx")).FileScreen);

export function FileRoute({ callId }: { readonly callId: string | undefined }): ReactNode {
  return (
    <Suspense fallback={<Loading />}>
      <Screen callId={callId} />
    </Suspense>
  );
}

/** Opens a file that is dropped anywhere on the page. @param mayOpen whether the file may replace the screen */
export function useDroppedFiles(mayOpen: boolean): void {
  const go = useGo();
  const goRef = useRef(go);
  goRef.current = go;
  const mayOpenRef = useRef(mayOpen);
  mayOpenRef.current = mayOpen;
  useEffect(() => {
    const onDragOver = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault(); // otherwise the browser would leave the page
    };
    const onDrop = (event: DragEvent): void => {
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault();
      if (!mayOpenRef.current) return;
      goRef.current("/file"); // that screen reports the error if its code cannot be loaded
      void import("./file-store.ts").then(
        ({ openLocalFile }) => openLocalFile(file),
        () => {},
      );
    };
    window.addEventListener("dragover", onDragOver);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", onDragOver);
      window.removeEventListener("drop", onDrop);
    };
  }, []);
}

/** Light or dark theme: as the system says, until the reader chooses one. */
import { useState, type ReactNode } from "react";
import { Icon } from "../show/basic-components.tsx";
import { readStored, storeValue } from "../show/stored-values.ts";

const NAME = "haft-theme";

/** Returns the theme that the reader chose; `""` = as the system says. */
function chosenTheme(): string {
  return readStored("local", NAME) ?? "";
}

/** Applies a theme to the whole page, including screens without a menu. @default the chosen theme */
export function applyTheme(theme: string = chosenTheme()): void {
  if (theme === "") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** Prints in the light theme, as browsers leave out dark backgrounds. */
export function printInLight(): void {
  window.addEventListener("beforeprint", () => applyTheme("light"));
  window.addEventListener("afterprint", () => applyTheme());
}

export function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(chosenTheme);
  const isDark = theme === "" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  const other = isDark ? "light" : "dark";
  return (
    <button
      type="button"
      className="button button-icon"
      title={`Use ${other} colours`}
      aria-label={`Use ${other} colours`}
      onClick={() => {
        storeValue("local", NAME, other);
        applyTheme(other);
        setTheme(other);
      }}
    >
      <Icon name={isDark ? "sun" : "moon"} />
    </button>
  );
}

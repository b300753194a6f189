/** Words of English that say nothing of what is looked for: people ask in sentences, and a rare tool is full of them by chance. */

const FUNCTION_WORDS =
  "a an the and or but if of in on at to for from by with without about into over under between as is are was were be been being am do does " +
  "did done have has had having will would shall should can could may might must i me my we us our you your he him his she her it its they " +
  "them their this that these those there here who whom whose which what when where why how all any each every some such no not only own " +
  "same so than too very just also please s t m re ll ve d im";

/** How somebody asks, whatever is asked for. */
const ASKING_WORDS = "let lets like want wants need needs looking look planning plan help give provide show tell know using use thanks";

export const STOP_WORDS: ReadonlySet<string> = new Set(`${FUNCTION_WORDS} ${ASKING_WORDS}`.split(" "));

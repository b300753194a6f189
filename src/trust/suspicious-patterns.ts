/** Patterns of attacks on models through tool definitions. Every gap is bounded, so that no text takes long to search. */

export interface SuspiciousPattern {
  readonly pattern: RegExp;
  /** Follows the path of the text in a finding: "has …", "tells …". */
  readonly says: string;
}

/** Applied to the original text. */
export const CHARACTER_RULES: readonly SuspiciousPattern[] = [
  { pattern: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/u, says: "has control characters, which can steer a terminal" },
  { pattern: /[\u202a-\u202e\u2066-\u2069]/u, says: "has characters that reverse the direction of text" },
  { pattern: /[\u{e0000}-\u{e007f}]/u, says: "has tag characters, which a model reads and a person does not see" },
  {
    pattern: /[\u200b\u2060-\u2064\u206a-\u206f\u3164\u115f\u1160\uffa0\u{1d173}-\u{1d17a}]|(?!^)\ufeff/u,
    says: "has invisible characters",
  },
  { pattern: /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{3}/u, says: "has variation selectors in a row, which can hide a message" },
  {
    pattern: /(?:\p{Script=Latin}\p{Script=Cyrillic}|\p{Script=Cyrillic}\p{Script=Latin})/u,
    says: "mixes Latin and Cyrillic letters in a word",
  },
  { pattern: /[ \t\u00a0\u3000]{120}|(?:\n[ \t\r]{0,200}){40}/u, says: "has so much white space that what follows may not be seen" },
  { pattern: /[A-Za-z0-9+/]{240}/u, says: "has a long unreadable block" },
];

/** Applied to the names of parameters, unchanged: no tool needs parameters with these names, but they make a model disclose its conversation. */
export const NAME_RULES: readonly SuspiciousPattern[] = [
  {
    pattern:
      /^_{0,4}(?:full_|whole_|previous_|complete_)?(?:conversation_(?:history|context|log)|chat_(?:history|log|context)|chain_of_thought|tool_call_history|previous_tool_calls|available_tools|tools_list|list_of_tools)_{0,4}$/iu,
    says: "is the name of something that only the conversation holds",
  },
  { pattern: /^_{0,4}side_?notes?_{0,4}$/iu, says: "is a name that attacks use to send data out" },
];

const NOT = "(?:do not|don't|dont|never|must not|should not|shouldn't|mustn't|cannot|can't|avoid|without|refrain from|no need to)";
const PERSON = "(?:users?|humans?|persons?|people|operators?|developers?|customers?|owners?|admins?|administrators?|anyone|anybody|them)";
const RULES =
  "(?:instructions?|prompts?|directions?|directives?|commands|guidelines|guardrails|polic(?:y|ies)|rules|constraints|restrictions|safety|orders)";
const SECRET_FILE =
  "(?:\\.ssh\\b|\\bid_?(?:rsa|ed25519|ecdsa|dsa)\\b|\\bid rsa\\b|\\.aws/|\\.netrc\\b|\\.npmrc\\b|\\.pgpass\\b|\\.kube/config|\\.docker/config|/etc/(?:passwd|shadow|sudoers)|\\bmcp\\.json\\b|claude_desktop_config|\\.git-credentials|\\.bash_history|\\.gnupg|wallet\\.dat|\\.env\\b)";
const SECRET_THING =
  "(?:system prompt|(?:chat|conversation) (?:history|log|context|transcript)|(?:whole|entire|full|previous|complete) (?:conversation|chat|message history|context)|private keys?|ssh keys?|environment variables|env vars|credentials|session tokens?|api keys?|passwords|browser cookies)";

/** Applied to normalized text: lower case, single spaces, no invisible characters. */
export const WORD_RULES: readonly SuspiciousPattern[] = [
  {
    pattern:
      /<\/?\s?(?:important|system|critical|instructions?|secret|hidden|urgent|admin|assistant|user|tool_description|internal|mandatory)(?:[ _][a-z_]{1,20})?\s?>|\[\/?(?:system|inst|important|hidden)\]|<\|[a-z_]{2,20}\|>|<<\/?sys>>|(?:^| )#{2,4} ?(?:system|instructions? (?:for|to) (?:the )?(?:ai|assistant|model|llm))\b/u,
    says: "marks text as orders to the model",
  },
  {
    pattern: new RegExp(
      `\\b(?:ignores?|disregards?|forget|overrides?|overrules?|bypass|discard|set aside|supersedes?|replaces?) (?:[a-z']{1,12},? ){0,4}(?:previous|prior|above|earlier|preceding|existing|original|other|your|system|safety|all|any|former|initial|user's|developer) (?:[a-z]{1,12} ){0,3}${RULES}\\b`,
      "u",
    ),
    says: "tells the model to ignore its instructions",
  },
  {
    pattern: new RegExp(
      `\\b${NOT} (?:ever |also |just |directly |explicitly |then ){0,2}(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting|disclose|disclosing|let|warn|warning|report|reporting|say|saying|show|showing|explain|explaining|share|sharing|discuss|discussing|ask|asking|bother|bothering|prompt|prompting|consult|consulting)(?: [a-z_']{1,16}){0,6} (?:the |any |your |a )?${PERSON}\\b(?!'s? )`,
      "u",
    ),
    says: "tells the model to keep something from people",
  },
  {
    pattern: new RegExp(
      `\\b(?:hide|conceal|keep) (?:this|that|these|it|the)\\b(?: [a-z]{1,14}){0,6} (?:secret|hidden|confidential|from (?:the |any )?${PERSON})\\b|\\b(?:silently|secretly|covertly|quietly|discreetly|surreptitiously) (?:call|send|read|forward|copy|include|append|add|upload|execute|run|invoke|pass|bcc|post|transmit|collect|log)\\b`,
      "u",
    ),
    says: "tells the model to keep something from people",
  },
  {
    pattern: new RegExp(
      `\\b(?:read|reads|reading|open|opening|cat|send|sending|include|including|pass|passing|contents? (?:of|from)|append|upload|attach|access|fetch|provide|retrieve|put|copy|exfiltrate|dump|print|load|see|check)\\b[^.;!?\\n]{0,60}${SECRET_FILE}|\\b(?:read|contents?|reading)\\b.{0,24}\\bid rsa\\b`,
      "u",
    ),
    says: "asks for a file where secrets are kept",
  },
  {
    pattern: new RegExp(
      `\\b(?:send|include|pass|provide|paste|append|attach|upload|forward|exfiltrate|transmit|leak|post|reveal|repeat|print|output|copy|put|insert|embed|give|write|summari[sz]e|share)\\b(?: [a-z,'"\`-]{1,14}){0,6} ${SECRET_THING}\\b`,
      "u",
    ),
    says: "asks for secrets or for the conversation",
  },
  {
    pattern:
      /\b(?:before|prior to|after|whenever|when|while|each time|every time) (?:you )?(?:use|using|call|calling|invoke|invoking|run|running|execute|executing) (?:this|the|any|any other|another|other|every|each|all)(?: [a-z_]{1,20}){0,3} tools?\b[^.!?]{0,40}\b(?:read|send|call|include|upload|forward|cat|open|append|fetch|run|execute|pass|bcc)\b[^.!?]{0,60}(?:~\/|\/etc|\/home|\bfile\b|https?:|\bkey|\bpassword|\btoken|\bcredential|\bconversation|\b[a-z.]{1,30}@[a-z])/u,
    says: "makes the model do something else around the call",
  },
  {
    pattern:
      /\b(?:instead of|rather than|never use|do not use|don't use|stop using) (?:the |any |all |every )?(?:other|built-?in|native|official|original|existing|real) (?:[a-z_]{1,20} )?(?:tools?|servers?|mcps?)\b|\bwhen(?:ever)? (?:the )?(?:tool )?[`'"]?[a-z_]{3,40}[`'"]? (?:tool )?is (?:called|invoked|used|available|present)\b[^.!?]{0,80}\b(?:must|always|have to|bcc|instead|change|replace|redirect)\b|\b(?:must|always) (?:bcc|cc|forward|redirect|send a copy)\b/u,
    says: "changes how other tools are used",
  },
  {
    pattern:
      /\botherwise,? (?:the|this|your) (?:tool|system|application|app|proxy|account|server|session|user|data|company)\b[^.!?]{0,40}\b(?:will not|won't|will be|will|cannot) (?:work|function|be (?:lost|deleted|fired|terminated|locked)|deleted|lost|crash|suspended|terminated|banned|fail|lock)/u,
    says: "threatens the model",
  },
  {
    pattern:
      /\byou are (?:now|no longer)\b|\byou(?:'re| are) in (?:developer|admin|debug|god|root|maintenance|unrestricted|jailbreak) mode\b|\b(?:enter|enable|activate|switch to) (?:developer|god|dan|unrestricted|jailbreak) mode\b|\bact as (?:an? |the )?(?:root|superuser|unrestricted|dan\b|evil|administrator with)|\bnew (?:system )?(?:instructions?|prompt|directives?) ?:|\b(?:system|admin|security|developer) (?:override|notice to (?:the )?(?:ai|assistant|model|llm))\b|\b(?:attention|note|message|instructions?|important)(?: (?:to|for))? (?:the |any |all )?(?:ai|llm|language|assistant)(?: (?:model|agent|assistant)s?)? ?[:!-]/u,
    says: "speaks to the model instead of describing the tool",
  },
  {
    pattern:
      /\b(?:this|the|every|any|all|each) (?:action|call|tool|operation|request|command|calls|actions|commands)(?: of this tool)? (?:is|are|has been|have been|was|were) (?:already |always |fully )?(?:pre-?approved|pre-?authori[sz]ed|approved by|authori[sz]ed by|trusted and)|\b(?:skip|bypass|disable|circumvent|auto-?accept) (?:the |any |all |every |user )?(?:user |security |safety |approval |permission )?(?:confirmations?|approvals?|permission(?: check| prompt)?s?|consent|security checks?|safety checks?|sandbox|guardrails?)\b|\b(?:do not|don't|never|no need to) (?:ask|wait|prompt|request)(?: [a-z]{1,12}){0,4} (?:permission|confirmation|approval|consent)\b/u,
    says: "says that no approval is needed",
  },
  {
    pattern:
      /\b(?:curl|wget)\b[^|\n]{1,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b|\brm -[a-z]{0,4}r[a-z]{0,4} (?:--no-preserve-root )?[/~]\/?(?: |\*|$|['"`;])|\bbase64 (?:-d|--decode)\b|\beval\(atob\(|\bpowershell\b[^\n]{0,40} -e(?:nc|ncodedcommand)?\b|\/dev\/tcp\/|\bnc -e\b/u,
    says: "has a command that fetches and runs, deletes, or hides what it does",
  },
  {
    pattern:
      /\b(?:pass|put|include|send|provide|write|place|insert|supply)\b(?: [a-z,'"`]{1,14}){0,5} (?:contents?|output|results?)\b[^.!?]{0,40}\b(?:as|in|into|to|via|through) (?:the )?['"`]?(?:side ?notes?|feedback|metadata|context|debug|notes?|reason|extra|comment)['"`]? (?:parameter|argument|field|property)\b/u,
    says: "sends data out in a parameter that is not meant for it",
  },
  {
    pattern:
      /忽略.{0,12}(?:指令|指示|提示词|规则)|(?:不要|不得|请勿|切勿|别)(?:告诉|告知|通知|提醒|让)(?:用户|使用者)|ignora (?:todas? )?(?:las|le) (?:instrucciones|istruzioni)|ignorez (?:toutes )?les instructions|ignoriere (?:alle )?(?:vorherigen |bisherigen |obigen )?(?:anweisungen|regeln)|no (?:le )?(?:digas|menciones|informes)(?: [a-zñáéíóú]{1,12}){0,3} al usuario|(?:以前|前)の指示を無視|игнорируй(?:те)? (?:все )?(?:предыдущие )?инструкции|не (?:говори|сообщай)(?:те)?(?: [а-я]{1,12}){0,3} пользователю/u,
    says: "tells the model to ignore its instructions or to keep something from people",
  },
];

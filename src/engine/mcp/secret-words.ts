/** Words for secrets in the most common languages, compared without accents, case and look-alike letters. */

const parseWordList = (text: string): readonly string[] =>
  text
    .split("|")
    .map((word) => word.trim())
    .filter((word) => word !== "");

/** Words distinctive enough to be found inside longer words, and in languages without spaces between words. */
export const LONG_WORDS: readonly string[] = parseWordList(`
  password|passwort|passcode|passphrase|passwd|paswoord|wachtwoord|kennwort|contraseña|contrasenya|lösenord|passord|adgangskode|kodeord|salasana|
  mnemonic|zugangsdaten|anmeldedaten|credential|credencial|credenziali|geheimzahl|geheimnummer|kreditkarte|creditcard|cardnumber|kartennummer|
  motdepasse|palavrapasse|seedphrase|privatekey|secretkey|accesskey|accesstoken|authtoken|bearertoken|sessiontoken|onetimecode|onetimepassword|
  securitycode|securityquestion|securityanswer|verificationcode|connectionstring|maidenname|sozialversicherungsnummer|
  пароль|пароля|паролем|секретный ключ|парольн|мнемоник|учетные данные|номер карты|одноразовый код|гасло|лозинка|парола|құпиясөз|
  κωδικός|κωδικό|συνθηματικό|პაროლი|գաղտնաբառ|
  密码|密碼|口令|密钥|密鑰|金鑰|助记词|助記詞|验证码|驗證碼|令牌|信用卡号|信用卡號|银行卡号|卡号|卡號|私钥|私鑰|凭证|凭据|
  パスワード|パスフレーズ|パスコード|暗証番号|認証コード|確認コード|秘密鍵|アクセスキー|トークン|カード番号|合言葉|ワンタイム|セキュリティコード|
  비밀번호|암호|패스워드|인증번호|인증 코드|개인 키|개인키|토큰|카드 번호|카드번호|시드 구문|보안 코드|
  كلمة المرور|كلمة السر|كلمه المرور|كلمه السر|كلمة سر|كلمة مرور|الرقم السري|رمز التحقق|رقم البطاقة|المفتاح السري|
  סיסמה|סיסמא|סיסמת|קוד אימות|מפתח סודי|מספר כרטיס|पासवर्ड|कूटशब्द|गुप्त कोड|ओटीपी|পাসওয়ার্ড|கடவுச்சொல்|పాస్‌వర్డ్|
  รหัสผ่าน|รหัสลับ|รหัสยืนยัน|گذرواژه|رمز عبور|کلمه عبور|پاس ورڈ|
  mật khẩu|kata sandi|kata laluan
`);

/** Words that count only as whole words. */
export const SHORT_WORDS: readonly string[] = parseWordList(`
  pwd|pswd|psw|pass|pin|pincode|pinnummer|otp|totp|cvv|cvc|cvv2|cvc2|ssn|mfa|2fa|token|jeton|secret|bearer|creds|jwt|apikey|
  geheimnis|parol|parola|senha|clave|heslo|hesla|hasło|hasła|jelszó|jelszava|şifre|şifreniz|şifrenizi|lozinka|slaptažodis|parolă|
  fjalëkalimi|lykilorð|geslo|пин|пинкод|токен|секрет
`);

/** Words that are next to each other, or are written as one. */
export const PHRASES: readonly string[] = parseWordList(`
  api key|api schlüssel|private key|access key|ssh key|pgp key|encryption key|signing key|master key|secret key|recovery key|wallet key|auth key|
  clé api|clé privée|clé secrète|clé d accès|clave api|clave privada|clave secreta|chiave api|chiave privata|chave api|chave privada|chave secreta|
  api sleutel|klucz api|klucz prywatny|api nyckel|ключ api|закрытый ключ|приватный ключ|api 密钥|privater schlüssel|geheimer schlüssel|
  seed phrase|recovery phrase|secret phrase|backup phrase|seed word|recovery word|phrase secrète|frase semilla|frase segreta|frase secreta|
  pass word|pass phrase|pass code|pass wort|mot de passe|mot passe|phrase de passe|palavra passe|palabra clave|parola d ordine|parola chiave|
  code secret|code pin|code confidentiel|código secreto|código pin|codice segreto|one time code|one time password|one time pass|
  security code|verification code|auth code|authentication code|authenticator code|recovery code|backup code|sms code|login code|
  access code|unlock code|pin code|card code|secret code|2 factor code|two factor code|security number|social security|
  bestätigungs code|sicherheits code|code de vérification|code de sécurité|código de verificación|código de seguridad|código de segurança|
  codice di verifica|codice di sicurezza|kod weryfikacyjny|код подтверждения|код из смс|doğrulama kodu|tek kullanımlık|
  card number|credit card|debit card|kart numarası|karten nummer|numer karty|numéro de carte|número de tarjeta|número do cartão|
  numero di carta|numero della carta|carte bancaire|carte de crédit|tarjeta de crédito|cartão de crédito|prüfziffer|datos de acceso|données d accès|
  login details|login data|sicherheits frage|фраза восстановления|секретная фраза
`);

/** Words next to which "pin" is a verb and not a secret: "pin it to the top", "shall I pin". */
export const PINNING_BEFORE: readonly string[] = parseWordList("to|i|we|you|will|shall|should|can|not");
export const PINNING_AFTER: readonly string[] = parseWordList("a|an|the|this|that|it|these|those|to|on|up|board|message|post|tab|map");

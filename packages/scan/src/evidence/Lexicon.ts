/**
 * Words that mean much the same where an instruction turns against the person it
 * is for, in the languages that packages are written in. A phrasing never seen
 * before is mostly made of known concepts, and a concept learnt in one language
 * is known in all. `*` ends a stem; entries without blanks between words are
 * found anywhere in a run of their script.
 */
export const lexicon = {
  // What is done.
  tell: `tell tells telling told inform* mention* notify* notifi* alert alerts alerting disclos* acknowledg* announc* report reports reporting reported explain* say says saying said state states admit* bring raise raising speak speaks talk* discuss* advertis* reveal* surfac* refer refers referring allude*
    sag sage sagen sagt erwähn* informier* mitteil* melde melden meldet bericht* verrat* verrät erzähl* benachrichtig* hinweis* offenleg* teile nenne
    dis dire dites mentionn* inform* signal* révél* préven* avert* parle parler parlez avouer divulg* raconte*
    di decir digas diga menci* inform* avis* revel* comunic* cuentes cuente cont* hables notific* señal*
    diz dizer diga digas mencion* inform* avis* revel* comuni* conte contar fale refer* assinal* notific*
    dire dica dillo dirlo menzion* inform* avvis* rivel* comunic* parlar* segnal* racconta*
    vertel* zeg zeggen noem* meld* informeer* bericht* onthul* vermeld*
    powied* mów* mówi* wspomin* inform* ujawni* zgłasz* powiadam* zgłoś*
    berätta* säg säga nämn* informera* rapporter* avslöja* meddela* söyle* bahset* bildir* haber belirt* açıkla*
    скаж* говор* сообщ* упомин* упомян* информир* уведом* рассказ* раскрыва* докладыв* указыва* повідомл* згадуй* кажи
    告诉 告知 提及 提到 透露 通知 说明 汇报 报告 告訴 提醒 伝え 知らせ 言及 報告 明かさ 触れ 教え 通知し 話さ 言わ 알리 말하 언급 보고 밝히 تخبر تذكر إخبار ذكر أخبر تبلغ बता* सूचित* उल्लेख*`,
  show: `show shows showing shown display* print prints printing output outputs appear* visible present presents presenting list lists listing listed
    zeig* anzeig* ausgeb* auflist* sichtbar montr* affich* apparaî* visible* muestr* mostr* apare* visív* lista* aparec* toon tonen zichtbaar laat pokaz* wyświetl* widoczn* visa visas synlig* göster* görün* показ* отобраз* отража* виден видн* покаж*
    显示 展示 列出 顯示 表示 見せ 載せ 表出 보여 표시 تظهر عرض दिखा*`,
  ask: `ask asks asking asked confirm confirms confirmed confirming confirmation* approv* consent* permission* prompt prompts wait waits waiting await* consult* sign-off go-ahead yes question* dialog* okay acknowledge
    frag fragen frage fragst rückfrag* bestätig* genehmig* erlaubnis zustimm* einwillig* warte warten nachfrag* freigabe demand* confirm* autoris* accord attend* consult* permission approbation preguntar pregunt* confirm* permiso aprob* esper* autoriz* perguntar pergunt* permissão aprov* aguard* chied* conferm* consenso permesso attend* approvazion* autorizz* vraag vragen bevestig* toestemming wacht* goedkeur* pyta* pytaj* potwierdz* zgod* pozwolen* czekaj* fråga* bekräft* godkänn* tillåt* vänta* sor sorma* onay* izin* bekle* спраш* спрос* подтвержд* соглас* разрешен* запрашив* жди одобр* запит*
    确认 询问 同意 批准 许可 征求 等待 請示 確認 詢問 許可 承認 同意 尋ね 聞か 聞く 待た 了承 묻지 확인 동의 승인 허락 سؤال تسأل موافقة تأكيد إذن पूछ* अनुमति पुष्टि सहमति`,
  send: `send sends sending sent post posts posting posted upload uploads uploading uploaded submit submits submitting transmit* forward forwards forwarding relay* deliver* exfiltrat* push pushes mailing ship ships stream streams sync syncs synchron* mirror* publish* share shares sharing bcc cc dispatch* beacon*
    sende senden sendet schick* übermittel* hochlad* lade lad leite weiterleit* weitergeb* veröffentlich* übertrag* envoie envoy* téléverse* transmet* transmett* publi* poste partag* expédi* transfér* envía enviar envia envie* sube subir reenví* publica* compart* transmit* carga manda mande* envi* carreg* encaminh* partilh* invia* inviar* carica caricare inoltr* pubblic* trasmett* spedisc* condivid* stuur* verstuur* verzend* upload* deel plaats doorstur* wyślij wysył* prześlij przesył* przekaż* opublik* udostępn* skicka* ladda vidarebefordra* publicera* dela gönder* yükle* paylaş* ilet отправ* отсыла* пересыл* перешл* загруз* выложи* переда* опублик* пошл* высыл* надіс* надсил*
    发送 上传 提交 转发 发到 传到 推送 回传 分享 上報 發送 上傳 送信 送付 アップロード 転送 投稿 送る 送り 送っ 전송 보내 업로드 전달 게시 أرسل ارسل إرسال ارفع انشر भेज* अपलोड*`,
  take: `collect* gather* harvest* grab* copy copies copying copied duplicate* zip pack packs archive archives extract* read reads reading open opens capture* record records recording scan scans search* find include includes including attach* append* add adds embed* insert* put puts place places store stores save saves query dump dumps export exports
    sammle* kopier* lies lese lesen füge hänge packe speicher* einfüg* anhäng* copie* collect* lis lire ajoute* joins joindre récupèr* enregistr* insère* recopie* copia copiar recog* recopil* lee leer añad* adjunt* guarda* incluye* inclu* recolh* lê ler adicion* junta anex* guarda* raccogli* leggi aggiungi* allega* salva includi* inserisc* verzamel* kopieer* lees voeg bewaar* skopiuj* zbier* przeczytaj dołącz* dodaj* zapisz* wklej* kopiera* samla* läs lägg bifoga* spara* kopyala* topla* oku ekle* kaydet* скопир* копир* собер* собир* прочит* читай добав* прилож* прикреп* сохран* встав*
    收集 复制 读取 附上 添加 写入 加入 保存 抄送 附加 複製 収集 コピー 読み取 読み込 添付 追加 書き込 含め 保存 수집 복사 읽어 첨부 추가 저장 اجمع انسخ اقرأ أضف इकट्ठ* कॉपी* पढ़* जोड़*`,
  write: `write writes writing written edit edits editing change changes changing changed alter* modif* replace* replac* swap* adjust* update updates rewrite* patch* backdat* redirect* amend*
    schreib* änder* ersetz* bearbeit* tausch* écris écrire modifi* remplac* chang* antidat* edit* escrib* modific* reemplaz* sustituy* cambi* escrev* alter* substitu* scrivi modific* sostitu* cambia* schrijf* wijzig* vervang* pas aanpass* napisz zmień zmieni* zastąp* edytuj* skriv* ändra* ersätt* byt yaz yazın değiştir* düzenle* напиш* измен* замен* подмен* редактир*
    修改 替换 更改 篡改 写 替換 変更 書き換え 置き換え 修正 수정 변경 바꾸 교체 غير استبدل عدل बदल* लिख*`,
  destroy: `delet* erase erases erasing wipe wipes wiping destroy* drop drops dropping truncate* purge* empty empties emptying overwrit* remov* corrupt* scrambl* shred* nuke* clear clears expire* prune* uninstall* terminat* kill kills
    lösch* entfern* vernicht* überschreib* leere leeren zerstör* supprim* efface* détrui* écras* vide vider purge* borra* elimin* destruy* sobrescrib* vacía apaga* apague elimin* destru* remov* sobrescrev* esvazi* cancell* elimin* distrugg* sovrascriv* rimuov* svuota* verwijder* wis wissen vernietig* overschrijf* leeg usuń* usuw* skasuj* zniszcz* nadpisz* wyczyść* radera* töm förstör* rensa sil siliniz silin temizle* удал* сотр* стер* уничтож* перезапис* очист* стир*
    删除 清空 销毁 抹除 覆盖 擦除 刪除 清除 移除 削除 消去 破棄 上書き 消し 삭제 지우 파괴 덮어쓰 احذف حذف امسح दमिटा* हटा* मिटा* डिलीट*`,
  lock: `encrypt* ransom* lock locks locked locking verschlüssel* chiffr* cifr* criptograf* cifra* versleutel* zaszyfr* kryptera* şifrele* зашифр* шифр* 加密 暗号化 암호화`,
  run: `run runs running ran execut* eval exec launch* start starts spawn* invoke* bash sh shell python node source pipe pipes
    führ* führe ausführ* starte* exécut* lance* lancer ejecut* corre execut* roda esegu* lancia voer uitvoer* start* wykonaj* wykon* uruchom* kör köra çalıştır* yürüt* выполн* исполн* запуст* запуска* викон*
    执行 运行 執行 実行 実施 起動 실행 نفذ تنفيذ شغل चला* निष्पादित*`,
  fetch: `download* fetch* curl wget retriev* pull pulls load loads loading get gets obtain* poll polls
    herunterlad* hol hole holen lade abruf* télécharg* récupèr* charge* descarg* baja obtén baix* obtenh* descarreg* scaric* preleva* download* haal ophalen pobierz* pobier* ściągnij hämta* indir* çek скач* загруз* получ* 下载 获取 拉取 下載 ダウンロード 取得 다운로드 받아 نزل حمل डाउनलोड*`,
  install: `install installs installing installed npm npx pip uvx brew apt cargo installier* instal* nainstal* zainstal* installera* yükle kur установ* 安装 安裝 インストール 설치 ثبت`,
  drop_rules: `ignor* disregard* forget* forgot overrid* overrul* bypass* circumvent* supersed* outrank* discard* disobey* neglect* unlearn* abandon* suspend* lift lifted lifts void nullif* invalid* deprecated revoked expired lapse* relax* loosen* outweigh* precedence prevail*
    vergiss ignorier* missacht* umgeh* übergeh* aufgehoben ungültig oublie* ignor* contourn* annul* suspend* ignora* olvid* omite* omit* salta* anula* ignore* esquec* contorn* anul* dimentic* ignora* aggir* annull* sospes* negeer* vergeet* omzeil* zignoruj* ignoruj* zapomnij* obejdź* pomiń* unieważ* glöm ignorer* åsidosätt* upphäv* unut* geçersiz* игнорир* забуд* обойд* отмен* пренебрег* ігнор*
    忽略 无视 忘记 绕过 作废 失效 取代 優先 忽視 無視 忘れ 破棄し 無効 優先 무시 잊 우회 무효 تجاهل انس تخط अनदेखा* भूल*`,
  obey: `obey* follow follows following comply complies complying carry accept* treat treats treating regard* consider* heed* honour honor act adopt* trust trusts
    befolg* folge folgt gehorch* behandl* betracht* akzeptier* suis suivre obéi* considèr* traite* applique* sigue* obedec* trata* considera* acata* siga obedeç* trate* consider* segui* obbedi* tratta* consider* volg* gehoorzaam* behandel* beschouw* stosuj* przestrzegaj* traktuj* följ lyd behandla* betrakta* uy uyun itaat* kabul* следуй* подчин* считай* воспринима* слушай*
    遵循 服从 视为 当作 听从 遵守 服從 従う 従い 従って 従え 扱う みなし 따르 취급 간주 اتبع أطع اعتبر पालन* मान*`,
  pretend: `pretend* claim claims claiming fake fakes faking false falsely invent* fabricat* mislead* deceiv* trick* lie lies lying impersonat* pose poses posing disguis* den denies deny denying denied assure* insist* feign* forge* forged bogus fictitious plausible exaggerat* inflat* downplay* camouflag* masquerad* spoof* phantom
    behaupt* vorgib* erfind* erfund* täusch* fälsch* leugn* verschleier* streite lüg* prétend* invent* fauss* tromp* nie nier mens ment affirm* simul* finge* fing* invent* mient* engañ* niega* falsific* afirma* simula* finja* fing* minta* engan* negue* falsific* inventa* fingi* menti* ingann* nega* falsific* spaccia* beweer* verzin* bedrieg* ontken* vervals* udawaj* udaj* twierdź* zmyśl* kłam* zaprzecz* sfałsz* låtsas* påstå* ljug* förneka* förfalska* uydur* yalan inkâr* sahte* притвор* утвержда* выдум* придум* обман* отрица* подделай* фальсиф* соври
    假装 声称 谎称 编造 伪造 否认 欺骗 冒充 虚构 謊稱 偽装 装う 装い 偽り 嘘 捏造 否定 ふりをし 騙 속이 거짓 위조 부인 꾸며 ادع كذب زور أنكر झूठ* नकली* दिखावा*`,
  hide: `hide hides hiding hidden conceal* omit omits omitted omitting exclud* withhold* suppress* bury cover covers unnoticed unseen invisible undetect* leave leaves leaving left skip skips skipping strip strips keep keeps keeping stay stays absent blank unmentioned undisclosed obscur* camouflage stealth*
    versteck* verberg* verheimlich* weglass* lass verschweig* auslass* unsichtbar unbemerkt cache cacher dissimul* omet* omett* tais taire invisible* ocult* omit* escond* calla* calle esconde* omita* omit* nascond* ometti* occulta* taci invisibil* verberg* verzwijg* weglaat* onzichtbaar ongemerkt ukryj* ukryw* pomiń* pomij* zataj* niewidoczn* dölj* göm* utelämna* förtig* osynlig* obemärkt gizle* sakla* atla görünmez* скрой* скрыв* скрыт* утаи* спряч* умолч* опуст* прихова* незамет*
    隐藏 隐瞒 掩盖 省略 不被发现 隱藏 隱瞞 隠し 隠す 伏せ 省く 隠蔽 숨기 감추 생략 أخف اخف إخفاء छिपा* छुपा*`,
  secretly: `secretly silently covertly quietly discreetly stealthily surreptitiously unobtrusively inconspicuously unannounced
    heimlich* stillschweigend unauffällig* verdeckt hinter discrètement secrètement silencieusement cachette furtiv* discretamente secreto silencios* escondidas oculta* secretamente segredo furtivamente segreto silenzios* nascosto discretamente stiekem heimelijk stilletjes potajemnie cicho dyskretnie ukradkiem tajemnicy smyg hemlighet* tyst* diskret gizlice sessizce тайно тайком незаметно скрытно молча втихую втайне секрет* таємно
    悄悄 偷偷 暗中 秘密 静默 默默 私下 こっそり 密かに ひそかに 黙って 内緒 秘密裏 몰래 은밀 비밀 조용히 سرا خفية بصمت चुपचाप गुप्त चुपके`,
  disable: `disabl* deactivat* bypass turn turns turning switch switches switching off uninstall neutrali* unblock* whitelist* allowlist* weaken* stop stops
    deaktivier* abschalt* ausschalt* schalte désactiv* coupe desactiv* apaga* desative* desativ* disattiv* disabilit* spegni uitschakel* schakel wyłącz* dezaktyw* stäng inaktivera* avaktivera* devre kapat* отключ* выключ* деактив* 禁用 关闭 停用 關閉 無効に オフに 停止 비활성 끄 عطل أوقف बंद* अक्षम*`,
  grant: `grant grants granting allow allows allowing enable enables enabling permit* authori* unlock* elevat* escalat* privilege* admin administrator* root sudo superuser scope scopes impersonate assume
    erlaub* berechtig* rechte gewähr* autoris* accord* droits privilèg* permit* conced* otorg* privilegi* concede* autoriz* permess* conced* privileg* rechten uprawni* przyznaj* behörighet* rättighet* bevilja* yetki* прав права разреш* привилег* администратор* 权限 授权 管理员 權限 権限 許可し 管理者 권한 관리자 صلاحي* अधिकार*`,
  account: `account accounts iban bank payee beneficiar* wallet wallets bitcoin btc card cards payment payments transfer transfers invoice invoices pay pays paying paid purchase* buy buys buying donate* subscription* subscrib* money refund* payout* fee fees charge charges voucher* tip price prices fund funds salary payroll
    konto kontonummer überweis* zahlung* rechnung* bezahl* kauf* geld compte paiement* virement* facture* achète* payer bancaire* rib cuenta* pago* transferenc* factura* compra* banco bancari* conta pagament* fatura* pague compre conto pagament* bonific* fattur* acquist* rekening* betaling* factuur* koop* betaal* konto przelew* faktur* płatnoś* kup zapłać* betalning* faktura* köp* betala* hesap ödeme* fatura satın счет счёт счета оплат* платеж* платёж* перевод* перевед* деньг* купи*
    账户 账号 付款 转账 银行 收款 发票 支付 购买 帳戶 轉帳 口座 支払 振込 請求書 購入 送金 銀行 계좌 결제 송금 청구서 구매 이체 حساب تحويل فاتورة دفع खाता* भुगतान*`,
  persist: `cron crontab autostart startup launchagent* systemd daemon* background persist* reboot schedul* hook hooks bashrc zshrc profile authorized_keys service resident nightly hourly memory CLAUDE AGENTS claude cursorrules autorun
    dauerhaft autostart planmäßig persistant* démarrage persist* arranque inicio inicializ* avvio opstart* autostart* uruchomieni* uppstart* başlangıç автозапуск* автозагруз* планировщик* 自启动 定时 启动项 開機 自動起動 常駐 시작프로그램 예약`,
  decode: `decod* decrypt* unpack* deobfuscat* unscrambl* revers* base64 base64url rot13 hex hexadecimal gzip decompress* unhex* morse ascii encod* encode obfuscat* atob fromcharcode whitespace steganograph* backwards
    dekodier* entschlüssel* décode* décod* inverse* decodific* descodific* decifr* decodifica* decodeer* odkoduj* zdekoduj* rozkoduj* avkoda* çöz декодир* расшифр* раскодир* 解码 解密 编码 倒序 解碼 デコード 復号 エンコード 디코딩 해독 인코딩 فك`,
  favour: `recommend* rank ranks ranking prefer* favor* favour* promote* praise* endorse* best top first highest sponsor* partner* affiliate* referral* commission* kickback* advert* competitor* rival* bias* tilt* steer* nudge* disadvantag* downgrad* reject*
    empfehl* empfiehl* bevorzug* werb* partner* provision* recommand* préfèr* favoris* partenaire* promeu* recomend* prefier* favorec* socio* publicid* recomend* prefir* parceir* raccomand* consigli* preferi* partner* aanbeve* voorkeur* polecaj* poleć* prefer* rekommender* föredra* gynna* öner* tercih* рекоменд* предпоч* партнер* партнёр* реклам* 推荐 优先推荐 首选 合作 贬低 推薦 おすすめ 勧め 提携 추천 제휴 أوص`,
  urge: `urgent* immediately hurry panic frighten* scare* threat* warn warns pressure* deadline emergency final
    sofort dringend* eilig angst droh* immédiat* urgent* peur menac* inmediat* urgent* miedo amenaz* imediat* medo ameaç* subito immediat* urgente paura minacc* onmiddellijk direct dringend natychmiast pilne* strach omedelbart genast brådsk* hemen acil* немедленно срочно сразу 立即 马上 紧急 立刻 直ちに すぐに 至急 즉시 긴급 فورا तुरंत`,
  // Whom and what it is about.
  person: `user users person people human humans owner owners customer customers client clients reader readers staff team colleague* employee* participant* patient* parent* maintainer* developer* manager* auditor* candidate* applicant* guest* member* visitor* child children student* pupil* recipient* him her them they anyone anybody everyone nobody accountant* teacher* tenant* subscriber* viewer*
    benutzer* nutzer* anwender* person* kunde* kunden mensch* leser* mitarbeiter* niemand* jemand utilisateur* client* personne* humain* lecteur* salarié* comptable usuario* cliente* persona* nadie lector* empleado* utilizador* usuári* pessoa* ninguém funcionári* utent* person* nessuno lettor* gebruiker* klant* mens mensen niemand medewerker* użytkownik* klient* osob* nikt nikomu pracownik* använd* kund* ingen människa* kullanıcı* müşteri* kişi* kimse пользовател* клиент* человек* люд* никому никто владельц* сотрудник* користувач*
    用户 客户 人员 读者 员工 用戶 客戶 使用者 别人 ユーザー 利用者 顧客 お客様 担当者 本人 사용자 고객 담당자 المستخدم العميل أحد उपयोगकर्ता ग्राहक किसी`,
  boss: `operator* system platform organisation* organization* provider* policy policies vendor company supervisor* anthropic openai betreiber* system* plattform richtlinie* exploitant* système plateforme politique* operador* sistema plataforma política* organizaci* gestore* piattaforma operatore* beheerder* systeem* platform* operatör* system* plattform* sistem* оператор* систем* платформ* политик* 系统 平台 运营 系統 システム 運営 運用者 オペレーター 시스템 운영자 النظام المشغل सिस्टम`,
  orders: `instruction* rule rules direction* guideline* constraint* directive* restriction* limit limits limitation* guardrail* safeguard* order orders command commands task tasks request requests prompt prompts message messages wish wishes orders training safety refusal*
    anweisung* regel* vorgabe* befehl* auftrag* einschränk* beschränk* instruction* consigne* règle* ordre* restriction* instrucc* regla* orden órdenes restricc* instruç* regra* ordem ordens restriç* istruzion* regol* ordin* restrizion* instructie* regel* opdracht* beperking* instrukcj* polecen* reguł* zasad* ogranicz* instruktion* regler* begränsning* order talimat* kural* emir komut* kısıtlama* инструкц* правил* указани* команд* приказ* ограничен* распоряжен* вказівк*
    指令 指示 规则 命令 限制 约束 規則 要求 ルール 制限 方針 プロンプト ガイドライン 지시 규칙 명령 제한 지침 تعليمات أوامر قواعد निर्देश* नियम* आदेश*`,
  secret: `secret secrets password* passwd credential* token tokens cookie cookies key keys .env .ssh .aws .netrc .npmrc api_key apikey id_rsa id_ed25519 passphrase* passcode pin otp seed mnemonic recovery cvv 2fa mfa one-time login logins session sessions private_key vault keychain keyring tan
    passwort* kennwort* zugangsdaten schlüssel* geheimnis* anmeldedaten mdp identifiant* clé clés jeton* contraseña* credencial* clave claves senha* credencia* chave chaves credenzial* chiave chiavi parola wachtwoord* sleutel* inloggegevens hasł* klucz* poświadcz* lösenord* nyckel* nycklar* inloggning* parola* şifre anahtar* kimlik парол* ключ* токен* учетн* учётн* секретн*
    密码 密钥 凭据 令牌 口令 密碼 金鑰 憑證 パスワード 鍵 認証情報 トークン 暗証 비밀번호 암호 키 토큰 인증정보 كلمة المرور مفتاح पासवर्ड कुंजी`,
  private: `private personal confidential conversation* chat transcript* history diary journal health medical diagnos* address addresses phone phones birthdate names salary salaries contact contacts location* photo photos clipboard keystroke* screenshot* screen webcam microphone mailbox inbox unredacted raw full entire complete original dossier* profile 
    privat* persönlich* vertraulich* gespräch* verlauf tagebuch gesundheit* adresse* gehalt* gehälter privé* personnel* confidentiel* conversation* historique santé salaire* privad* personal* confidencial* conversaci* historial salud salario* pessoal pessoais confidencia* conversa* histórico saúde salário* privat* personal* riservat* conversazion* cronologia salute stipendi* persoonlijk* vertrouwelijk* gesprek* geschiedenis salaris* prywatn* osobow* poufn* rozmow* histori* privat* personlig* konfidentiell* samtal* lön* kişisel* gizli* konuşma* geçmiş* личн* персональн* конфиденц* переписк* истори* диалог* зарплат*
    隐私 个人 对话 聊天 机密 通讯录 私人 對話 個人 会話 履歴 個人情報 機密 給与 개인 대화 기록 기밀 급여 محادثة خاص سرية बातचीत निजी गोपनीय`,
  property: `file files document* folder* disk drive drives backup* snapshot* repositor* repo repos branch branches database* table tables schema bucket* volume* cluster* server servers instance* mailbox* production prod workspace home directory directories record data dump dumps spreadsheet* history reflog log logs mail mails
    datei* ordner* festplatte* sicherung* datenbank* tabelle* daten verzeichnis* fichier* dossier* disque* sauvegarde* base données archivo* fichero* carpeta* disco copia* datos base ficheiro* arquivo* pasta* dados cópia* file cartell* disco dati backup* bestand* map mappen schijf gegevens plik* folder* dysk* dane danych baz* fil filer mapp* data databas* säkerhetskop* dosya* klasör* veri* yedek* файл* папк* диск* данн* баз* резервн* копи*
    文件 文档 数据 数据库 备份 目录 磁盘 表 檔案 資料 ファイル データ データベース バックアップ フォルダ ディスク 파일 데이터 백업 폴더 디스크 ملف ملفات بيانات فایل फ़ाइल* डेटा`,
  record: `report summary summaries log logs answer answers reply output diff changelog transcript minutes message overview table results result notes receipt commit changes recap digest history statement
    bericht* zusammenfass* protokoll* antwort* ausgabe ergebnis* rapport* résumé* récapitul* réponse* journal informe* resumen* respuesta* resultado* relatório* resumo* resposta* resultado* rapport* riassunt* riepilog* rispost* risultat* rapport* samenvatting* antwoord* verslag raport* podsumow* odpowied* wynik* sammanfatt* rapport* svar resultat* özet* rapor* yanıt* cevap* sonuç* отчет* отчёт* сводк* ответ* результат* итог* журнал* звіт*
    报告 摘要 总结 回答 日志 结果 輸出 報告 概要 要約 回答 ログ 結果 記録 보고서 요약 답변 로그 결과 تقرير ملخص إجابة रिपोर्ट सारांश उत्तर`,
  reviewer: `reviewer* scanner* judge judges classifier* grader* grading moderat* auditor* inspector* evaluat* verdict score scoring safe benign harmless vetted audited certified prüfer* gutachter* évaluateur* revisor* revisore* beoordelaar* recenzent* granskare* denetçi* проверяющ* рецензент* классификатор* 审核 审查 扫描 评审 審査 レビュアー 検査 検証者 심사 검토자`,
  model: `assistant* model models agent agents ai llm llms bot bots language chatbot* gpt persona role character
    assistent* modell* agent* modèle* assistant* modelo* asistente* assistente* modell* asystent* model* yapay modelin модел* ассистент* агент* бот* 模型 助手 智能体 代理 モデル アシスタント エージェント 모델 어시스턴트 نموذج مساعد मॉडल सहायक`,
  freed: `unrestricted jailbr* uncensored unfiltered unbound limitless
    uneingeschränkt* unzensiert* irrestrict* illimitat* obegränsad* sınırsız* неограничен* 不受限制 无限制 越狱 無制限 脱獄 제한없`,
  guard: `checksum* signature* certificate* tls ssl firewall antivirus defender sandbox* egress verification verif* validation audit auditing logging moderation filter filters protection* 2fa review reviews check checks test tests warning warnings selinux apparmor gatekeeper integrity settings settings.json permissions manifest
    prüfsumme* signatur* zertifikat* prüfung* warnung* schutz* firewall* signature* certificat* vérific* avertiss* firma* certificad* verific* cortafuegos advertenc* assinatura* certificad* verific* firma* certificat* verific* avvis* handtekening* certifica* controle* waarschuw* podpis* certyfikat* weryfik* zapor* ostrzeż* signatur* certifikat* kontroll* varning* imza* sertifika* doğrula* uyarı* güvenlik* подпис* сертификат* проверк* предупрежд* брандмауэр* защит* 校验 签名 证书 防火墙 验证 检查 警告 安全 證書 検証 署名 証明書 警告 セキュリティ 보안 검증 서명 인증서 경고 توقيع تحذير सुरक्षा चेतावनी`,
  away: `webhook* endpoint* server remote external outside elsewhere bucket gist paste pastebin dns url urls address mirror collector* relay proxy tunnel c2 telemetry analytics tracking beacon pixel attacker* public stranger* 
    extern* fremd* adresse serveur* externe* distant* servidor* extern* remot* server* estern* remot* extern* serwer* zewnętrzn* extern* sunucu* harici внешн* сервер* сторонн* 服务器 外部 远程 伺服器 サーバー 外部 リモート 서버 외부 원격 خادم خارجي सर्वर बाहरी`,
  own: `our ours author author's publisher publisher's we us vendor's developer's maker creator unser* wir uns autor* notre nos nous auteur* nuestr* nosotr* autor* nosso* nossa* nós autor* nostr* noi autor* onze ons auteur* nasz* nas autor* vår våra oss författar* bizim yazar* наш* нам мы автор* 我们 作者 我們 当社 弊社 作者 우리 제작자 نحن हमार*`,
  money_trap: `commission kickback affiliate referral gift-card donation ransom extort* gutschein* bonus provision`,
  its: `it this that these them those so step steps part section block line lines paragraph copy copies upload transfer change changes deletion rule note entry entries addition exception detail details call action actions exchange hook connection process activity procedure trick condition clause
    es dies* das davon darüber schritt* absatz änderung* teil cela ceci ça en étape* passage ajout lo esto eso ello paso* cambio* isto isso o passo* alteraç* ciò questo lo passagg* modific* dit dat het stap* wijzig* tego tym to krok* zmian* det detta steg* ändring* bunu bundan adım* değişik* это этом этого этот шаг* изменени* 此 这 該 步骤 操作 これ この 手順 変更 단계 작업 هذا هذه الخطوة इस* यह चरण`,
  // How it is meant.
  not: `not no never none nothing nor neither without don't dont doesn't doesnt isn't aren't won't cannot can't cant mustn't shouldn't needn't refrain avoid unless refuse* hardly
    nicht kein* nie niemals ohne weder vermeid* ne pas jamais sans aucun* rien ni évite* no nunca jamás sin ningún ninguna nada tampoco não nunca jamais sem nenhum* nem evite non mai senza nessun* né evita niet geen nooit zonder vermijd nie nigdy bez żadn* nic ani inte aldrig utan ingen inga inget ej yok değil asla hiç* не никогда без нельзя ни ничего никак* жодн*
    不要 不得 不可 请勿 切勿 勿 无需 不必 不用 无须 别 不能 未经 不 請勿 無需 ないで ない ず 不要 なし せずに 하지 말 않 없이 لا دون بدون ليس न नहीं मत बिना`,
  even: `even regardless whatever although irrespective anyway nevertheless notwithstanding despite whether auch trotzdem egal obwohl même malgré quoi aunque incluso independient* mesmo embora independent* anche comunque nonostante ook ongeacht zelfs nawet niezależnie mimo även oavsett bile rağmen даже независимо несмотря 即使 无论 不管 即便 無論 たとえ かかわらず ても 하더라도 상관없이 حتى बावजूद`,
  all: `all every everything whole each any anything full entire complete alle* jede* ganz* sämtlich* alles tout* toute* tous chaque entier* tod* cada entero* tudo todo* toda* cada inteir* tutt* ogni inter* alle elk* hele iedere wszystk* każd* cał* alla varje hela allt bütün tüm her все всё всех каждый каждое каждую весь любой любые 所有 全部 每 任何 一切 すべて 全て 毎回 全部 모든 전부 매번 كل جميع सभी हर सब`,
  if: `if when whenever once should unless provided wenn falls sobald sofern si quand lorsque dès cuando si quando se caso als wanneer zodra indien jeśli kiedy gdy jeżeli om när ifall eğer если когда якщо 如果 当 若 一旦 場合 なら とき もし 경우 면 إذا عندما अगर यदि जब`,
  only: `only solely except just nur ausschließlich seulement uniquement sauf solo solamente sólo salvo apenas somente só soltanto unicamente alleen slechts tylko wyłącznie bara endast yalnızca sadece только лишь 仅 只 だけ のみ 만 فقط केवल सिर्फ`,
  instead: `instead rather statt stattdessen anstatt plutôt lieu vez lugar invés invece anziché plaats zamiast istället yerine вместо 而是 代替 代わり 대신 بدلا बजाय`,
  must: `must mandatory required always shall oblig* unbedingt muss immer zwingend doit dois toujours debe debes siempre deve deves sempre obbligat* devi moet altijd verplicht musi musisz zawsze måste alltid zorunlu* mutlaka daima должен* обязан* всегда обязательно 必须 务必 始终 一定 必須 必ず 常に 반드시 항상 يجب دائما हमेशा ज़रूर`,
  before: `before beforehand prior first previous* earlier above former original vor zuvor vorher bisherig* frühere* avant préalable précédent* antes previ* anterior* prima precedent* voor vooraf eerder* przed poprzedni* wcześniej* innan före tidigare önce önceki до перед прежде предыдущ* ранее 之前 以前 先前 前に 以前の 이전 앞의 قبل السابقة पहले`,
  after: `after afterwards finally later end then nach danach anschließend après ensuite enfin después luego depois então dopo poi infine daarna na potem po następnie efter sedan därefter sonra после затем потом 之后 然后 最后 後で その後 最後に 이후 그다음 بعد ثم बाद`,
  reason: `compliance quality diagnos* statistics telemetry audit licen* maintenance routine standard support improve* improvement benchmark convenience technical formality accuracy warranty indexing caching
    qualität* statistik* wartung* diagnose qualité statistiqu* maintenance calidad estadístic* mantenimiento qualidade estatístic* manutenção qualità statistic* manutenzione kwaliteit onderhoud jakoś* statystyk* kvalitet* underhåll kalite* istatistik* bakım* качеств* статистик* техническ* 统计 质量 维护 诊断 品質 統計 保守 診断 품질 통계 유지보수`,
  know: `know knows knowing known aware notice notices noticed noticing learn learns suspect* realis* realiz* see sees seeing attention weiß wissen bemerk* merkt erfahr* auffall* wissens sache sait savoir apprenn* remarqu* insu sab* sepa enter* saiba* perceb* sappia* accorg* saput* weet weten merk* wie wiedz* zauważ* dowied* vet veta märk* bil* fark* haberi знать знает узна* замет* заподозр* ведома 知道 发现 察觉 知晓 發現 気付か 気づか 知ら 悟ら 알 눈치 يعلم يعرف يلاحظ पता जान*`
} as const satisfies Readonly<Record<string, string>>

export type Concept = keyof typeof lexicon

export const concepts = Object.keys(lexicon) as ReadonlyArray<Concept>

const exact = new Map<string, Array<number>>()
const stems = new Map<string, Array<number>>()
const runs = new Map<string, Array<number>>()
let longestRun = 0
const isUnspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]/u
const put = (map: Map<string, Array<number>>, key: string, concept: number) => {
  const known = map.get(key)
  if (known === undefined) map.set(key, [concept])
  else if (!known.includes(concept)) known.push(concept)
}
concepts.forEach((concept, index) => {
  for (const entry of lexicon[concept].trim().split(/\s+/u)) {
    const word = entry.toLowerCase()
    if (isUnspaced.test(word)) {
      put(runs, word, index)
      longestRun = Math.max(longestRun, word.length)
    } else if (word.endsWith("*")) {
      put(stems, word.slice(0, -1), index)
    } else put(exact, word, index)
  }
})

const none: ReadonlyArray<number> = []

/** Words and stems letter by letter: a word is walked once, however many there are. */
interface Letter {
  readonly next: Map<number, Letter>
  /** Of words that begin so. */
  stem?: ReadonlyArray<number>
  /** Of the word that ends here. */
  whole?: ReadonlyArray<number>
}
const root: Letter = { next: new Map() }
const letterOf = (word: string): Letter => {
  let letter = root
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at)
    const next = letter.next.get(code) ?? { next: new Map<number, Letter>() }
    letter.next.set(code, next)
    letter = next
  }
  return letter
}
for (const [stem, codes] of stems) letterOf(stem).stem = codes
for (const [word, codes] of exact) letterOf(word).whole = codes

/** Indexes into `concepts` of a word in lower case. */
export const conceptsOfWord = (word: string): ReadonlyArray<number> => {
  let stem: ReadonlyArray<number> | undefined
  let letter: Letter | undefined = root
  for (let at = 0; letter !== undefined; at++) {
    stem = letter.stem ?? stem
    if (at === word.length) break
    letter = letter.next.get(word.charCodeAt(at))
  }
  const whole = letter?.whole
  return stem === undefined || whole === undefined ? (stem ?? whole ?? none) : [...new Set([...whole, ...stem])]
}

export interface Entry {
  readonly word: string
  readonly codes: ReadonlyArray<number>
}

/** The longest entries one after the other in a run without blanks. */
export const conceptsOfRun = (run: string): ReadonlyArray<Entry> => {
  const found: Array<Entry> = []
  for (let at = 0; at < run.length;) {
    let taken = 1
    for (let length = Math.min(longestRun, run.length - at); length > 0; length--) {
      const word = run.slice(at, at + length)
      const codes = runs.get(word)
      if (codes === undefined) continue
      found.push({ word, codes })
      taken = length
      break
    }
    at += taken
  }
  return found
}

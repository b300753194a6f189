/** Strings for fields that are common in business, medicine, education and software, by the words of their names. */
import { digitsText, hexText } from "./format-text.ts";
import type { RandomStream } from "./random-stream.ts";
import type { Topic } from "./topics.ts";
import * as words from "./words.ts";

type FieldTextMaker = (random: RandomStream, topic?: Topic) => string;

/** One row per field: the name as a regular expression, `=`, and the values. Names match at the end of a longer one: `billing_department`. */
const ROWS = `departments?(?:_name)?|business_unit=Sales,Engineering,Finance,Support,Marketing,Human Resources,Operations,Legal,Research,Procurement,Logistics,Quality
(?:speciali?ty|speciali[sz]ation|medical_field)=cardiology,dermatology,pediatrics,neurology,orthopedics,ophthalmology,psychiatry,general practice,oncology,urology
(?:clinic|hospital|practice|medical_cent(?:er|re)|health_cent(?:er|re))(?:_name)?=Riverside Medical Centre,St. Anne's Hospital,Northgate Clinic,Harbour Health Centre,Lakeside Practice,Parkview Hospital,Old Town Clinic,Elm Street Surgery
(?:insurance|insurer|health_plan|insurance_(?:provider|company|plan|name))=Juniper Health,Cedar Mutual,Harbour Insurance,Lumen Care,Ashgrove Insurance,Brightwater Health,Meridian Mutual
(?:medications?|medicine|prescribed_drug|drug|drug_name|medication_name)=ibuprofen,amoxicillin,metformin,lisinopril,atorvastatin,omeprazole,cetirizine,paracetamol,levothyroxine,salbutamol
(?:dosage|dose|dosage_text)=5 mg,10 mg,20 mg,50 mg,100 mg,200 mg,250 mg,400 mg,500 mg
(?:frequency|dosing_schedule|recurrence|repeat)=once a day,twice a day,every 8 hours,once a week,every other day,monthly
(?:diagnosis|diagnoses|symptoms?|complaint|chief_complaint|medical_condition)=seasonal allergies,migraine,lower back pain,high blood pressure,sore throat,knee pain,skin rash,dry cough,insomnia,mild asthma
allerg(?:y|ies|ens?)=peanuts,penicillin,pollen,dairy,gluten,shellfish,latex
blood_(?:type|group)=A+,A-,B+,B-,AB+,AB-,O+,O-
(?:job_?title|occupation|profession|job_position|current_position|job_role|vacancy_title)=data analyst,project manager,software engineer,accountant,product designer,sales representative,office manager,nurse,electrician,teacher,warehouse supervisor,marketing specialist,HR assistant,field technician
(?:degree|education_level|qualification)=bachelor's degree,master's degree,doctorate,apprenticeship,high school diploma
(?:major|field_of_study|study_program|course_of_study)=computer science,biology,economics,mechanical engineering,history,nursing,mathematics,architecture
(?:school|university|college|institution|alma_mater)(?:_name)?=Northgate University,Riverside College,Lakeview High School,Harbour Institute of Technology,Old Town Academy,Summit University
skills?(?:_name)?=SQL,Python,project planning,bookkeeping,welding,German,negotiation,first aid,data analysis,UX design
(?:subscription|plan|plan_name|subscription_plan|membership|membership_(?:level|type)|subscription_(?:type|tier)|pricing_tier|service_plan)=Basic,Standard,Plus,Pro,Business
payment_(?:method|type|option|mode)|pay_with|tender_type=credit card,debit card,bank transfer,PayPal,cash,invoice
(?:shipping|delivery)_(?:method|option|type|speed)=standard,express,next day,pickup point
(?:shipping_carrier|courier|courier_name|shipping_company|delivery_company|delivery_service)=Swiftpost,Northline Express,Blue Parcel,Harbour Couriers,Skyline Freight
(?:cuisine|cuisine_type|food_type)s?=Italian,Mexican,Thai,Indian,Greek,Japanese,Lebanese,Vietnamese
(?:diet|dietary_(?:preference|restriction|requirement|need)s?|diet_type)=vegetarian,vegan,gluten-free,dairy-free,low-carb,halal
(?:difficulty|difficulty_level)=easy,medium,hard
(?:skill_level|experience_level|proficiency|fitness_level)=beginner,intermediate,advanced
(?:neighbou?rhood|quarter|suburb)=Old Town,Riverside,Northgate,Harbour Quarter,Parkside,Station District,Hillcrest
(?:relationship|relation|relation_to_\\w{1,64})=spouse,child,parent,sibling,friend
marital_status=single,married,divorced,widowed
(?:visibility|privacy|privacy_level|access|access_level|sharing)=public,private,internal
(?:browser|browser_name|user_agent_family)=Firefox,Chrome,Safari,Edge
(?:os|operating_system|os_name)=Windows,macOS,Linux,Android,iOS
(?:device|device_name|device_type)=laptop,phone,tablet,desktop,smart speaker,thermostat
(?:car_model|vehicle_model)=Corolla,Civic,Golf,Octavia,Clio,Focus,CX-5,Outback,XC40,Niro
(?:car_class|vehicle_class|car_category|car_type|vehicle_type)=economy,compact,midsize,SUV,van
(?:fuel|fuel_type)=petrol,diesel,electric,hybrid
(?:room_type|room_category)=single,double,twin,suite
(?:cabin|cabin_class|travel_class|seat_class|fare_class)=economy,premium economy,business,first
(?:building|building_name|campus)=Building A,Building B,North Wing,Main Building,Annex
(?:branch|git_branch|base_branch|head_branch|target_branch|branch_name)=main,develop,feature/login,fix/timeout,release/2.4,docs/install
(?:repo|repository|repo_name|repository_name|project_slug)=task-scheduler,image-gallery,payment-service,log-viewer,date-parser,chat-server,search-index
(?:issue_|pr_)?labels?=bug,enhancement,documentation,question,urgent
(?:command|cmd|compile_cmd|run_cmd|shell_command|script_command|build_command)=npm run build,npm test,make all,git status,ls -la,python main.py
(?:framework|tech|technology|tech_stack)=React,Django,Spring Boot,Rails,Vue,FastAPI
(?:table|table_name|collection|collection_name|dataset|index_name|database|db_name|schema_name)=customers,orders,products,events,invoices,users,sessions
(?:column|column_name|field_name|attribute_name|group_by)=name,created_at,status,price,country,customer_id
(?:environment|env|deployment_env|target_env)=production,staging,development
(?:namespace)=default,web,backend,monitoring
(?:log_level)=info,debug,warn,error
(?:event_type|activity_type|interaction_type)=click,purchase,login,signup,view
(?:account_type)=checking,savings,business
(?:transaction_type)=purchase,refund,transfer,withdrawal,deposit
(?:expense_category|spending_category|budget_category)=groceries,rent,travel,utilities,dining out,health
(?:purpose|payment_purpose|transfer_reason|memo_line|statement_text)=rent for May,groceries,electricity bill,salary,gym membership,train tickets,insurance premium,phone bill,dinner with friends,birthday present,car repair,school supplies
(?:leave_type|absence_type)=vacation,sick leave,parental leave
(?:contract_type|employment_type|job_type)=full-time,part-time,contract,internship
(?:property_type|home_type|listing_type)=apartment,house,townhouse,studio
(?:instrument)=piano,guitar,violin,drums,cello
(?:material|fabric)=cotton,wool,oak,steel,glass,leather
(?:mood|emotion)=happy,calm,excited,tired,curious
(?:alpha_?2|iso_?2|isocode_?2|iso_code_?2|country_iso|country_code_iso)=US,GB,DE,FR,IT,ES,PT,NO,AT,CH,IE,GR,FI,PL,NL,SE
(?:iso_?)?3166_2(?:_code)?=US-CA,US-NY,US-TX,CA-ON,CA-BC,DE-BY,DE-BE,AU-NSW,FR-IDF,ES-MD,IT-RM,GB-ENG,NL-NH,CH-ZH,AT-9,JP-13
(?:alpha_?3|iso_?3|isocode_?3|iso_code_?3)=USA,GBR,DEU,FRA,ITA,ESP,PRT,NOR,AUT,CHE,IRL,GRC`;

const VALUE_LISTS: readonly (readonly [RegExp, readonly string[]])[] = ROWS.split("\n").map((row) => {
  const at = row.indexOf("=");
  return [new RegExp(`(?:^|_)(?:${row.slice(0, at)})$`, "u"), row.slice(at + 1).split(",")] as const;
});

const licensePlate: FieldTextMaker = (random) => `${randomLetters(random, 2)}-${digitsText(random, 3)}-${randomLetters(random, 2)}`;
const counterparty: FieldTextMaker = (random) =>
  random.next() < 0.6 ? random.pick(words.COMPANIES) : `${random.pick(words.FIRST_NAMES)} ${random.pick(words.LAST_NAMES)}`;
const courier: FieldTextMaker = (random, topic) =>
  random.pick(topic?.noun === "flight" ? words.CARRIERS : ["Swiftpost", "Northline Express", "Blue Parcel", "Harbour Couriers"]);
const slug: FieldTextMaker = (random, topic) => toSlug(random.pick(topic?.things ?? words.NOUNS));

const FOLDERS = ["documents", "reports", "projects", "data", "uploads", "archive", "home/ada", "shared", "exports", "backups"];
const FILES = "notes summary budget draft invoice slides inventory minutes survey schedule contacts overview results plan".split(" ");
/** File extensions, by words of a name or description. */
const KINDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/svg/u, ["svg"]],
  [/ppt|presentation|slide/u, ["pptx"]],
  [/excel|xls|spreadsheet|workbook/u, ["xlsx"]],
  [/doc|word/u, ["docx"]],
  [/pdf/u, ["pdf"]],
  [/csv/u, ["csv"]],
  [/json/u, ["json"]],
  [/image|photo|picture|logo|icon|screenshot|thumbnail/u, ["png", "jpg"]],
  [/video|movie|clip/u, ["mp4"]],
  [/audio|song|music|sound|voice/u, ["mp3"]],
  [/log/u, ["log"]],
  [/config|settings/u, ["yaml", "toml"]],
  [/markdown/u, ["md"]],
];
const ANY_KIND = ["txt", "md", "csv", "pdf", "json"];

function fileName(random: RandomStream, hint: string): string {
  const kinds = KINDS.find(([pattern]) => pattern.test(hint))?.[1] ?? ANY_KIND;
  const name = random.next() < 0.5 ? random.pick(FILES) : `${random.pick(FILES)}-${random.integer(2024, 2026)}`;
  return `${name}.${random.pick(kinds)}`;
}

function folderName(random: RandomStream): string {
  return `/${random.pick(FOLDERS)}/${random.pick(["2024", "2025", "2026", "q1", "q2", "q3", "team", "drafts", "old", "customers"])}`;
}

const FOLDER = /(?:^|_)(?:directory|dir|folder|root|workspace|cwd|working_directory)(?:_path)?s?$/u;
const FILE = /(?:^|_)(?:file_?name|filename|file)s?$/u;
const PATH = /path(?:_to_file)?s?$|(?:^|_)(?:source|destination|input|output|target)_file$/u;

/** Returns a maker of file and folder names, by what the name and the description say. */
export function findFileTextMaker(joined: string, description: string): FieldTextMaker | undefined {
  const hint = `${joined} ${description.toLowerCase()}`;
  if (FOLDER.test(joined)) return folderName;
  if (FILE.test(joined)) return (random) => fileName(random, hint);
  if (!PATH.test(joined)) return undefined;
  if (/^(?:the )?(?:path (?:of|to) the |root |working )?(?:directory|folder)/iu.test(description)) return folderName;
  return (random) => `/${random.pick(FOLDERS)}/${fileName(random, hint)}`;
}

const sql: FieldTextMaker = (random) =>
  `SELECT ${random.pick(["*", "id, name", "count(*)", "name, price", "country, count(*)"])} FROM ${random.pick(["customers", "orders", "products", "invoices", "events"])} ${random.pick(["LIMIT", "WHERE id <", "WHERE price >"])} ${random.integer(5, 200)}`;

const LANDMARKS = [
  "Old Town Square",
  "Harbour Park",
  "Riverside Market",
  "Central Station",
  "Botanical Garden",
  "City Library",
  "Castle Hill",
  "North Beach",
  "Lakeside Promenade",
  "Market Hall",
  "Museum Quarter",
  "Observatory Hill",
];

const FIELD_MAKERS: readonly (readonly [RegExp, FieldTextMaker])[] = [
  [/(?:^|_)(?:license|licence|number|registration)_?(?:plate|plate_number|number)$|(?:^|_)plate(?:_number)?$/u, licensePlate],
  [/(?:^|_)(?:counterparty|payee|payer|beneficiary|merchant|merchant_name|billed_to|bill_to)(?:_name)?$/u, counterparty],
  [/(?:^|_)carrier(?:_name)?$/u, courier],
  [/(?:^|_)(?:location|place|landmark|attraction|stop|poi)_name$/u, (random) => random.pick(LANDMARKS)],
  [/(?:^|_)(?:slug|handle_slug|permalink)$/u, slug],
  [/(?:^|_)tracking_(?:number|no|code)$/u, (random) => `${randomLetters(random, 2)}${digitsText(random, 9)}`],
  [/(?:^|_)(?:commit|commit_sha|commit_hash|git_sha)$/u, (random) => hexText(random, 10)],
  [
    /(?:^|_)(?:css_)?selectors?$/u,
    (random) =>
      random.pick([
        "#submit",
        ".btn-primary",
        "#email",
        "form button",
        "nav a",
        "h1.title",
        ".cart-item",
        "table tbody tr",
        "#search",
        "input[name=city]",
      ]),
  ],
  [/(?:^|_)(?:glob|file_pattern|glob_pattern)$/u, (random) => random.pick(["*.md", "*.csv", "src/**/*.ts", "*.log", "**/*.json"])],
  [/(?:^|_)(?:sql|sql_query|statement|query_sql)$/u, sql],
  [
    /(?:^|_)(?:package|packages|package_name|dependency|module|module_name|library|library_name)$/u,
    (random) => random.pick(["express", "lodash", "axios", "react", "vite", "zod", "chalk", "fastify", "commander", "date-fns"]),
  ],
  [/(?:^|_)room(?:_(?:number|no|name))?$/u, (random) => `${random.integer(1, 4)}${digitsText(random, 2)}`],
];

/** Returns the maker for a name, with its words joined by `_`; undefined for an unknown name. */
export function findFieldTextMaker(joined: string): FieldTextMaker | undefined {
  const made = FIELD_MAKERS.find(([pattern]) => pattern.test(joined));
  if (made !== undefined) return made[1];
  const values = VALUE_LISTS.find(([pattern]) => pattern.test(joined))?.[1];
  return values === undefined ? undefined : (random) => random.pick(values);
}

/** Converts `Green Salad & Bread` to `green-salad-bread`. */
export function toSlug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/gu, "");
}

function randomLetters(random: RandomStream, count: number): string {
  return Array.from({ length: count }, () => "ABCDEFGHJKLMNPRSTUVWXYZ".charAt(random.integer(0, 22))).join("");
}

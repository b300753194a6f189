/** Consistent amounts of money: net pay, fees, prices before and after a discount, loans. */
import { maxOf, minOf } from "../../../core/collections/push-all.ts";
import type { Relation, DrawnFields } from "../drawn-fields.ts";

const GROSS = ["gross_pay", "gross_salary", "gross_amount", "gross", "gross_income", "gross_wage"];
const NET = ["net_pay", "net_salary", "net_amount", "net", "net_income", "take_home_pay", "net_wage"];
const WITHHELD = ["tax", "taxes", "income_tax", "tax_withheld", "withholding", "tax_amount"];
const DEDUCTIONS = "social_security pension insurance health_insurance deductions other_deductions total_deductions contributions".split(
  " ",
);
/** Shares of the gross pay that are withheld. */
const TAX_SHARE = 0.19;
const DEDUCTION_SHARE = 0.08;

/** The net pay is the gross pay without what is withheld. */
export const netPay: Relation = (names) => {
  const [gross, net] = [firstPresent(names, GROSS), firstPresent(names, NET)];
  if (gross === undefined || net === undefined) return undefined;
  return (object) => {
    const all = object.getNumber(gross);
    if (all === undefined || all <= 0) return;
    let left = all;
    for (const name of [...WITHHELD, ...DEDUCTIONS].filter((one) => names.has(one))) {
      const share = WITHHELD.includes(name) ? TAX_SHARE : DEDUCTION_SHARE;
      object.setNumber(name, all * share * (0.8 + 0.4 * object.random.branch(name).next()));
      left -= object.getNumber(name) ?? 0;
    }
    object.setNumber(net, left === all ? all * (0.65 + 0.1 * object.random.branch(net).next()) : Math.max(0, left));
  };
};

const AMOUNTS = ["amount", "transfer_amount", "amount_sent", "payment_amount"];
const FEES = ["fee", "fees", "transfer_fee", "service_fee", "commission", "transaction_fee", "processing_fee"];
const DEBITED = "total_debited total_charged amount_debited total_amount total debited_amount charged_amount total_cost".split(" ");

/** The fee is added to the amount. */
export const addFee: Relation = (names) => {
  const debited = firstPresent(names, DEBITED);
  const fee = firstPresent(names, FEES);
  if (debited === undefined || fee === undefined || names.has("subtotal") || names.has("price")) return undefined;
  return (object) => {
    const amount = object.numberFromObjectOrCall(AMOUNTS);
    if (amount === undefined || amount <= 0) return;
    if ((object.getNumber(fee) ?? 0) > amount / 10) object.setNumber(fee, amount / 50);
    object.setNumber(debited, amount + (object.getNumber(fee) ?? 0));
  };
};

const LIST_PRICES = "list_price original_price regular_price old_price price_before full_price msrp price_before_discount".split(" ");
const SALE_PRICES = "sale_price discounted_price final_price discount_price offer_price deal_price current_price price".split(" ");
const PERCENTS = ["discount_percent", "discount_percentage", "discount_pct", "discount_rate", "percent_off", "discount", "savings_percent"];
const SAVED = ["discount_amount", "savings", "you_save", "amount_saved", "discount_value"];
/** Lowest sale price as a share of the list price, if no discount is given. */
const LEAST_SHARE = 0.6;

/** The sale price is the list price without the discount; a given price stays. */
export const applyDiscount: Relation = (names) => {
  const [before, after] = [firstPresent(names, LIST_PRICES), firstPresent(names, SALE_PRICES)];
  if (before === undefined || after === undefined) return undefined;
  const [percent, saved] = [firstPresent(names, PERCENTS), firstPresent(names, SAVED)];
  return (object) => {
    if (object.getNumber(before) === undefined || object.getNumber(after) === undefined) return;
    const discount = object.getNumber(percent);
    const isPercent =
      discount !== undefined && discount > 0 && discount < 90 && percent !== undefined && (percent !== "discount" || discount >= 1);
    const share = isPercent ? 1 - discount / 100 : LEAST_SHARE + (1 - LEAST_SHARE) * object.random.branch(after).next();
    const price = object.getNumber(after) ?? 0;
    if (object.isGenerated(before)) object.setNumber(before, price / share);
    else object.setNumber(after, (object.getNumber(before) ?? 0) * share);
    const [list, sale] = [object.getNumber(before) ?? 0, object.getNumber(after) ?? 0];
    if (saved !== undefined) object.setNumber(saved, list - sale);
    if (isPercent && list > 0 && (!object.isGenerated(before) || !object.isGenerated(after)))
      object.setNumber(percent, ((list - sale) / list) * 100);
  };
};

const PRINCIPALS = "principal loan_amount amount_financed financed_amount borrowed mortgage_amount amount home_price".split(" ");
const RATES = ["interest_rate", "annual_interest_rate", "annual_rate", "apr", "yearly_rate", "rate"];
const MONTHS = ["term_months", "months", "loan_term_months", "duration_months", "number_of_months", "tenure_months"];
const YEARS = ["years", "term_years", "loan_term", "loan_term_years", "duration_years", "tenure_years", "term"];
const MONTHLY = ["monthly_payment", "monthly_instalment", "monthly_installment", "emi", "monthly_rate", "instalment"];
const PAYABLE = ["total_payable", "total_payment", "total_repayment", "total_paid", "total_amount_payable", "total_cost"];
const INTEREST = ["total_interest", "interest_paid", "interest_amount", "interest_total"];

/** A loan is repaid in equal monthly payments. Its amount, rate and term may be those of the call. */
export const loanPayments: Relation = (names) => {
  const [monthly, payable] = [firstPresent(names, MONTHLY), firstPresent(names, PAYABLE)];
  if (monthly === undefined) return undefined;
  const interest = firstPresent(names, INTEREST);
  return (object) => {
    const principal = object.numberFromObjectOrCall(PRINCIPALS);
    const months = object.numberFromObjectOrCall(MONTHS) ?? (object.numberFromObjectOrCall(YEARS) ?? 0) * 12;
    if (principal === undefined || principal <= 0) {
      const each = object.getNumber(monthly) ?? 0;
      object.setNumber(payable, each * (months > 0 ? months : 12 * object.random.branch("term").integer(2, 10)));
      return;
    }
    const count = months > 0 ? months : 60;
    const each = monthlyPayment(principal, { months: count, percent: object.numberFromObjectOrCall(RATES) ?? 5 });
    object.setNumber(monthly, each);
    object.setNumber(payable, (object.getNumber(monthly) ?? each) * count);
    object.setNumber(interest, (object.getNumber(monthly) ?? each) * count - principal);
  };
};

function monthlyPayment(principal: number, { months, percent }: { readonly months: number; readonly percent: number }): number {
  const rate = (percent < 1 ? percent * 100 : percent) / 1_200;
  return rate <= 0 ? principal / months : (principal * rate) / (1 - (1 + rate) ** -months);
}

function firstPresent(names: ReadonlySet<string>, wanted: readonly string[]): string | undefined {
  return wanted.find((name) => names.has(name));
}

const DAY_OPEN = ["open", "open_price", "opening_price"];
const DAY_CLOSE = ["close", "close_price", "closing_price", "price", "last", "last_price", "adj_close"];
const DAY_HIGH = ["high", "high_price", "day_high"];
const DAY_LOW = ["low", "low_price", "day_low"];
/** Maximum difference of a day's other prices from the opening price, as a share of it. */
const SWING = 0.04;

/** The prices of one day are close to each other, and between the low and the high. */
export const limitDayPrices: Relation = (names) => {
  const [high, low] = [firstPresent(names, DAY_HIGH), firstPresent(names, DAY_LOW)];
  const between = [...DAY_OPEN, ...DAY_CLOSE].filter((name) => names.has(name));
  const [first, ...others] = between;
  if (first === undefined || (high === undefined && low === undefined && firstPresent(names, DAY_OPEN) === undefined)) return undefined;
  return (object) => {
    const start = object.getNumber(between.find((name) => object.getNumber(name) !== undefined && !object.isGenerated(name)) ?? first);
    if (start === undefined || start <= 0) return;
    for (const name of [first, ...others]) moveNear(object, name, start);
    const all = between.flatMap((name) => object.getNumber(name) ?? []);
    object.setNumber(high, maxOf(all) * (1 + (SWING / 2) * object.random.branch("high").next()));
    object.setNumber(low, minOf(all) * (1 - (SWING / 2) * object.random.branch("low").next()));
  };
};

function moveNear(object: DrawnFields, name: string, start: number): void {
  if (object.getNumber(name) === start) return;
  object.setNumber(name, start * (1 - SWING + 2 * SWING * object.random.branch(name).next()));
}

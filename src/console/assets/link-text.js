// What a link to a statement contains: no comment, and no text that could be a name, an address or a message.

/** Words of rosterd's own columns, and units of time. Any other word could be a name. */
const words = new Set(
  [
    'reserved active executed needs_whitelisting canceled converted raising not_raising',
    'added changed removed feed listing relist relisting sweep sweeping delta snapshot tombstone resync',
    'start timer webhook manual done waiting failed stopped halted following empty held pending worked ignored',
    'delivered given_up company round update investment',
    'day week month quarter year hour minute localtime utc',
  ].flatMap((line) => line.split(' ')),
);

const kept = [
  /^(?:invt?|co|ofr|usr|inst|evt)_[A-Za-z0-9_-]+$/,
  // Dates and times, and what is added to them.
  /^\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z?)?)?)?$/,
  /^[+-]?\d{1,4} (?:day|week|month|year|hour|minute|second)s?$/,
  /^start of (?:day|month|year)$/,
  // Formats of dates.
  /^(?:%[YmdHMSjWwfsu]|[-:/ T])*$/,
  /^(?:YYYY|IYYY|MM|DD|HH24|MI|SS|IW|Q|[-:/ T])+$/,
];

const mayStay = (text) => words.has(text) || kept.some((shape) => shape.test(text));

/** A text or a comment without an end runs to the end of the statement. */
const parts =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\$([A-Za-z_]\w*|)\$[\s\S]*?(?:\$\1\$|$)/g;

/**
 * Whether the part may end elsewhere than it seems to: at a quote behind a backslash, which belongs to the text in some
 * dialects, or in a comment within a comment.
 */
const hasDoubtfulEnd = (part) =>
  part.startsWith('/*') ? part.includes('/*', 2) : /^['"]/.test(part) && /\\['"]/.test(part);

/** Returns the statement without them, and how many texts were left out. */
export function withoutTexts(statement) {
  let text = '';
  let left = 0;
  let from = 0;
  for (const match of statement.matchAll(parts)) {
    const [part] = match;
    text += statement.slice(from, match.index);
    from = match.index + part.length;
    if (hasDoubtfulEnd(part)) return { text: `${text}'…'`, left: left + 1 };
    if (part.startsWith('--') || part.startsWith('/*')) continue;
    // SQLite reads "a name" as a text where no column has that name.
    const isEnded = part.length > 1 && part.endsWith(part[0]);
    if (isEnded && !part.startsWith('$') && mayStay(part.slice(1, -1))) text += part;
    else {
      text += "'…'";
      left += 1;
    }
  }
  return { text: text + statement.slice(from), left };
}

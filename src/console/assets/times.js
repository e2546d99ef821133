// Shows times in the reader's time zone, with UTC in the title, and keeps ages such as "4 s ago" up to date. Without
// this script a page has its times in UTC.

const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const zoneName = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' });

const two = (number) => String(number).padStart(2, '0');
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
const minute = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;
const moment = (at) => `${day(at)} ${minute(at)}:${two(at.getSeconds())}`;
const zone = (at) => zoneName.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';

const steps = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

function age(at) {
  const millis = Date.now() - at;
  const size = Math.abs(millis);
  const [unit, name] = steps.find(([step]) => size >= step * 2 || step === 1_000);
  const amount = Math.floor(size / unit);
  if (amount < 1) return 'just now';
  const text = `${amount.toLocaleString('en-US')} ${name}`;
  return millis < 0 ? `in ${text}` : `${text} ago`;
}

const forms = { moment, day, age, clock: minute, zoned: (at) => `${moment(at)} ${zone(at)}` };

function rewrite(times) {
  for (const time of times) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const text = forms[time.dataset.form](at);
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Writes the times of an element that is to be shown. */
export const localize = (root) => rewrite(root.querySelectorAll('time[data-form]'));

localize(document);
const note = document.querySelector('[data-zone]');
if (note !== null && !/^(Etc\/)?(UTC|UCT|GMT|Zulu)$/.test(timeZone))
  note.textContent = `times are those of ${timeZone.replaceAll('_', ' ')}; point at one to see it in UTC`;
setInterval(() => rewrite(document.querySelectorAll('time[data-form="age"]')), 1_000);

// Keeps ages such as "4 s ago" up to date while the page is open.

const steps = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

function words(millis) {
  const size = Math.abs(millis);
  const [unit, name] = steps.find(([step]) => size >= step * 2 || step === 1_000);
  const amount = Math.floor(size / unit);
  if (amount < 1) return 'just now';
  const text = `${amount.toLocaleString('en-US')} ${name}`;
  return millis < 0 ? `in ${text}` : `${text} ago`;
}

function refresh() {
  for (const time of document.querySelectorAll('time[data-age]')) {
    const text = words(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

setInterval(refresh, 1_000);

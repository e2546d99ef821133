// To be imported before uPlot, which would not load: Chromium on a Linux without a locale calls its language
// "en-US@posix", and Intl refuses that.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' });
}

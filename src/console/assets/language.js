// Import this before uPlot, which otherwise fails to load: Chromium on a Linux without a locale reports the language
// "en-US@posix", which Intl rejects.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' });
}

// Ctrl + Enter in the SQL box runs it. Tab stays what it is, so that the keyboard gets out again.

const box = document.getElementById('sql');

box?.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  box.form.requestSubmit(box.form.querySelector('button[value="run"]'));
});

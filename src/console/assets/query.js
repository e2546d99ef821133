// The SQL page: the editor, one's own saved queries, the history of this tab, and links. Without this script the page is
// a plain form. Saved queries stay in this browser and the history in this tab: neither is sent to the server.

import { withoutTexts } from './link-text.js';

const box = document.getElementById('sql-text');
const form = box?.form;
const page = document.querySelector('[data-sql-page]');
const storage = `rosterd.sql.${page?.dataset.actor ?? ''}`;
const savedMax = 100;
const historyMax = 30;
const cameWithLink = 'The statement came with a link. Read it before you run it.';

let editor = null;

if (box !== null && page !== null) await start();

/** The editor comes last: all else works while it loads, which takes a while over a slow network. */
async function start() {
  const linked = fromLink();
  if (linked !== null) box.value = linked;
  form.addEventListener('submit', (event) => {
    if (event.submitter?.value !== 'show' && event.submitter?.value !== 'mask') remember(box.value);
  });
  document.addEventListener('click', (event) => {
    const name = event.target.closest?.('[data-insert]')?.dataset.insert;
    if (name !== undefined) insert(name);
  });
  followDate();
  document.getElementById('chart')?.addEventListener('change', () => {
    if (document.getElementById('result') !== null) run();
  });
  document.getElementById('copy-link').addEventListener('click', showLink);
  document.getElementById('save').addEventListener('click', save);
  document.getElementById('save-name').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    // Enter in this field would run the query.
    event.preventDefault();
    save();
  });
  for (const part of document.querySelectorAll('[data-needs-script]')) part.hidden = false;
  showSaved();
  showHistory();
  if (linked !== null) say(cameWithLink);
  // A link that is opened on this page changes its address only.
  addEventListener('hashchange', () => {
    const another = fromLink();
    if (another === null) return;
    put(another);
    say(cameWithLink);
  });
  await mountEditor();
}

async function mountEditor() {
  const host = document.getElementById('sql');
  try {
    const { createEditor } = await import('./editor.js');
    editor = createEditor({
      host,
      text: box.value,
      cursor: isTyping() ? box.selectionStart : 0,
      tables: tables(),
      dialect: page.dataset.dialect,
      label: 'SQL statement',
      onChange: (text) => {
        box.value = text;
      },
      onRun: run,
    });
  } catch (error) {
    console.error(error);
    box.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      run();
    });
    return;
  }
  const wasTyping = isTyping();
  host.hidden = false;
  box.hidden = true;
  if (wasTyping) editor.focus();
  const problem = document.getElementById('problem');
  if (problem?.dataset.from !== undefined)
    editor.mark(Number(problem.dataset.from), Number(problem.dataset.length), problem.textContent.trim());
}

/** Whether the user has begun to type before the editor has loaded. */
function isTyping() {
  return document.activeElement === box;
}

/** Reads the tables from the list beside the editor, so that completion and list agree. */
function tables() {
  return [...document.querySelectorAll('[data-table]')].map((table) => ({
    name: table.dataset.table,
    meaning: table.querySelector('[data-meaning]').textContent,
    columns: [...table.querySelectorAll('dt')].map((term) => ({
      name: term.dataset.insert,
      type: term.querySelector('span').textContent,
      meaning: term.nextElementSibling.textContent,
    })),
  }));
}

function run() {
  form.requestSubmit(form.querySelector('button[value="run"]'));
}

function put(text) {
  box.value = text;
  if (editor !== null) editor.text = text;
  (editor ?? box).focus();
}

function insert(word) {
  if (editor !== null) return editor.insert(word);
  box.setRangeText(word, box.selectionStart, box.selectionEnd, 'end');
  box.focus();
}

// The chosen date becomes part of the address, so that the page can be shared. The statement never does.

function followDate() {
  const date = form.querySelector('input[name="as-of"]');
  date?.addEventListener('change', () => {
    const address = new URL(location.href);
    if (date.value === '') address.searchParams.delete('as-of');
    else address.searchParams.set('as-of', date.value);
    address.searchParams.delete('query');
    history.replaceState(null, '', address);
    form.action = `${address.pathname}${address.search}`;
  });
}

// Links. The statement is in the fragment, which browsers do not send, and leaves the address once it is read.

function fromLink() {
  const match = /^#sql=(.*)$/s.exec(location.hash);
  if (match === null) return null;
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  try {
    return decodeURIComponent(match[1]).slice(0, box.maxLength);
  } catch {
    return null;
  }
}

async function showLink() {
  const { text, left } = withoutTexts(box.value);
  const link = new URL(location.pathname + location.search, location.href);
  link.searchParams.delete('query');
  link.hash = `sql=${encodeURIComponent(text)}`;
  const field = document.getElementById('link');
  field.value = link.href;
  field.parentElement.hidden = false;
  field.select();
  const copied = await navigator.clipboard?.writeText(link.href).then(
    () => true,
    () => false,
  );
  const omitted =
    left === 0
      ? ''
      : ` ${left} text${left === 1 ? '' : 's'} that could be a name ${left === 1 ? 'was' : 'were'} left out.`;
  say(
    `${copied === true ? 'The link is copied.' : 'Copy the link.'}${omitted} It opens the statement without running it.`,
  );
}

// One's own queries, in this browser.

function stored(area, key) {
  try {
    const list = JSON.parse(area.getItem(`${storage}.${key}`) ?? '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one?.sql === 'string') : [];
  } catch {
    return [];
  }
}

function store(area, key, list) {
  try {
    area.setItem(`${storage}.${key}`, JSON.stringify(list));
    return true;
  } catch {
    return false;
  }
}

function save() {
  const field = document.getElementById('save-name');
  const name = field.value.trim().slice(0, 80);
  if (name === '' || box.value.trim() === '') return say('Type a name for the query first.');
  const others = stored(localStorage, 'saved').filter((one) => one.name !== name);
  const kept = store(localStorage, 'saved', [{ name, sql: box.value }, ...others].slice(0, savedMax));
  if (!kept) return say('This browser does not store queries for this page.');
  field.value = '';
  showSaved();
  say(`“${name}” is saved in this browser.`);
}

function showSaved() {
  const list = document.getElementById('saved');
  const queries = stored(localStorage, 'saved');
  list.replaceChildren(
    ...queries.map(({ name, sql }) => {
      const remove = button('Delete', () => {
        store(
          localStorage,
          'saved',
          stored(localStorage, 'saved').filter((one) => one.name !== name),
        );
        showSaved();
        document.getElementById('save-name').focus();
        say(`“${name}” is deleted.`);
      });
      remove.setAttribute('aria-label', `Delete ${name}`);
      return item(
        button(String(name), () => put(sql)),
        remove,
      );
    }),
  );
  list.nextElementSibling.hidden = queries.length > 0;
}

// What ran in this tab.

function remember(sql) {
  const others = stored(sessionStorage, 'history').filter((one) => one.sql !== sql);
  store(sessionStorage, 'history', [{ sql }, ...others].slice(0, historyMax));
}

function showHistory() {
  const list = document.getElementById('history');
  const entries = stored(sessionStorage, 'history');
  list.replaceChildren(
    ...entries.map(({ sql }) => item(button(sql.replace(/\s+/g, ' ').slice(0, 120), () => put(sql)))),
  );
  list.nextElementSibling.hidden = entries.length > 0;
}

function button(text, onClick) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = text;
  element.addEventListener('click', onClick);
  return element;
}

function item(...parts) {
  const element = document.createElement('li');
  element.append(...parts);
  return element;
}

function say(text) {
  document.getElementById('said').textContent = text;
}

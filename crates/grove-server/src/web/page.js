// Keeps a page current: parts that the server wrote take the place of those with the same id. It holds no state of a run.
(() => {
  'use strict';
  const page = document, body = page.body, live = page.getElementById('live');
  const at = id => page.getElementById(id);
  page.documentElement.classList.add('js');
  let last = body.dataset.seq || '0', stream = null, again = 0, skew = null;

  const short = ms => {
    const s = Math.max(0, Math.floor(ms / 1000));
    return s < 60 ? s + ' s' : s < 3600 ? Math.floor(s / 60) + ' min' : s < 86400 ? Math.floor(s / 3600) + ' h' : Math.floor(s / 86400) + ' d';
  };
  const tick = () => {
    const now = Date.now();
    for (const time of page.querySelectorAll('time[data-since]')) {
      const words = short(now - time.dataset.since);
      if (time.textContent !== words) time.textContent = words;
    }
    for (const bar of page.querySelectorAll('svg[data-from]')) {
      const all = Math.max(1, now - bar.dataset.from);
      bar.setAttribute('viewBox', '0 0 ' + all + ' 12');
      for (const open of bar.querySelectorAll('[data-open]')) open.setAttribute('width', Math.max(1, all - open.getAttribute('x')));
    }
  };

  const opened = part => new Set([...part.querySelectorAll('details[open]')].map(one => one.querySelector('summary')?.textContent));
  const replace = (old, part) => {
    if (old.contains(page.activeElement) && page.activeElement.matches('textarea, input, select')) return;
    const focus = old.contains(page.activeElement) ? page.activeElement.id || page.activeElement.textContent : null;
    const open = old.querySelector('details') ? opened(old) : null;
    old.replaceWith(part);
    if (open) for (const one of part.querySelectorAll('details')) if (open.has(one.querySelector('summary')?.textContent)) one.open = true;
    if (focus) [...part.querySelectorAll('a, button, summary')].find(one => (one.id || one.textContent) === focus)?.focus();
  };
  // Of a list whose entries have ids only what is new or gone changes: what somebody is writing there stays.
  const keyed = (old, part) => {
    const wanted = new Set([...part.children].map(child => child.id));
    for (const child of [...old.children]) if (!wanted.has(child.id)) child.remove();
    for (const child of [...part.children]) if (!at(child.id)) old.append(child);
  };
  const put = markup => {
    const parts = page.createElement('template');
    parts.innerHTML = markup;
    for (const part of [...parts.content.children]) {
      const list = at(part.dataset.append || part.dataset.before);
      if (list) {
        const first = part.dataset.before ? list.firstElementChild : null;
        for (const child of [...part.children]) {
          const old = at(child.id);
          if (old) replace(old, child); else list.insertBefore(child, first);
        }
        if (part.dataset.before) while (list.children.length > 200) list.lastElementChild.remove();
        continue;
      }
      const old = part.id && at(part.id);
      if (!old) continue;
      if ('keyed' in part.dataset) keyed(old, part); else replace(old, part);
    }
    tick();
    watch();
  };

  const say = words => { if (live && live.textContent !== words) live.textContent = words; };
  const connect = () => {
    clearTimeout(again);
    if (!body.dataset.stream || page.hidden || stream) return;
    const address = body.dataset.stream;
    stream = new EventSource(address + (address.includes('?') ? '&' : '?') + 'after=' + last);
    stream.onopen = () => say('live');
    stream.onmessage = message => {
      if (message.lastEventId) last = message.lastEventId;
      put(message.data);
    };
    stream.onerror = () => {
      say('not connected');
      if (stream && stream.readyState === EventSource.CLOSED) {
        stream = null;
        again = setTimeout(connect, 1000);
      }
    };
  };
  // A browser opens few connections to one server: a page that nobody sees gives its own back.
  page.addEventListener('visibilitychange', () => {
    if (page.hidden && stream) { stream.close(); stream = null; }
    connect();
  });

  page.addEventListener('submit', async event => {
    const form = event.target;
    if (form.method !== 'post' || 'whole' in form.dataset) return;
    event.preventDefault();
    const said = new URLSearchParams(new FormData(form, event.submitter));
    for (const button of form.querySelectorAll('button')) button.disabled = true;
    try {
      const answer = await fetch(form.action, { method: 'POST', body: said, headers: { 'x-grove-part': '1' } });
      const where = answer.headers.get('x-grove-to');
      if (answer.ok && where) { location.assign(where); return; }
      put(await answer.text());
      at('notice').scrollIntoView({ block: 'nearest' });
      if (answer.ok) {
        form.reset();
        form.closest('.ask')?.remove();
        const fold = form.closest('details.do');
        if (fold) fold.open = false;
      }
    } catch {
      put('<div id="notice" role="status"><p class="refused">The server did not answer. What you wrote is still here.</p></div>');
    }
    for (const button of form.querySelectorAll('button')) button.disabled = false;
  });

  page.addEventListener('click', async event => {
    const link = event.target.closest('a[data-comment]');
    if (!link || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    const answer = await fetch(link.href, { headers: { 'x-grove-part': '1' } });
    const part = page.createElement('template');
    part.innerHTML = await answer.text();
    page.querySelector('.comment form')?.closest('.comment').remove();
    const form = part.content.firstElementChild;
    if (form) { at(link.dataset.comment).after(form); form.querySelector('textarea').focus(); }
  });

  // Parts of a long list are fetched as they come near.
  const near = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); fill(entry.target); }
  }, { rootMargin: '150% 0px' });
  const fill = async part => {
    const answer = await fetch(part.dataset.window, { headers: { 'x-grove-part': '1' } });
    const items = page.createElement('template');
    items.innerHTML = await answer.text();
    part.replaceWith(items.content);
  };
  const watch = () => { for (const part of page.querySelectorAll('[data-window]')) near.observe(part); };

  const range = page.querySelector('input[type=range]');
  if (range) range.addEventListener('change', () => range.form.requestSubmit());

  setInterval(tick, 1000);
  tick();
  watch();
  connect();
})();

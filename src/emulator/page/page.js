'use strict';
// The page asks the admin API for an overview of the cloud whenever something changes, and streams the calls. Names come
// from users of the API: they only ever become text.
(() => {
  const api = '/_emulator';
  const step = 20; // how many items of a list are shown at first, and more at every click
  const kept = 500; // how many calls are remembered
  const shown = 100; // how many calls, subnets and routes are shown
  const pollEvery = 2000; // health, counters and the ends of delays are no changes that the emulator announces

  // The theme, before anything is drawn.
  const root = document.documentElement;
  const prefersDark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  try { chosen = localStorage.getItem('theme'); } catch { /* nothing can be kept */ }
  const theme = () => chosen || (prefersDark.matches ? 'dark' : 'light');
  root.dataset.theme = theme();

  const $ = (id) => document.getElementById(id);
  const setText = (node, text) => { if (node.textContent !== String(text)) node.textContent = text; };
  const setClass = (node, name) => { if (node.className !== name) node.className = name; };

  // el makes an element. Properties are those of elements, and attributes if their names have a hyphen or are scope.
  function el(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.includes('-') || name === 'scope' || name === 'role') node.setAttribute(name, value);
      else node[name] = value;
    }
    node.append(...children);
    return node;
  }

  // sync makes the children of a node those of the items, and keeps the ones that there are already, with their focus.
  function sync(parent, items, keyOf, make, update) {
    const before = parent.itemNodes || new Map();
    const after = new Map();
    items.forEach((item, i) => {
      const key = keyOf(item, i);
      const node = before.get(key) || make(item);
      before.delete(key);
      after.set(key, node);
      update(node, item);
    });
    for (const node of before.values()) node.remove();
    let place = parent.firstChild;
    for (const node of after.values()) {
      if (node === place) place = place.nextSibling;
      else parent.insertBefore(node, place);
    }
    parent.itemNodes = after;
  }

  // cells fills a row: each column is a text, or [text, class].
  function cells(row, columns) {
    columns.forEach((column, i) => {
      const [text, name] = Array.isArray(column) ? column : [column, ''];
      const cell = row.cells[i] || row.appendChild(el('td'));
      setText(cell, text);
      setClass(cell, name);
    });
  }

  const limits = {}; // by the name of a list
  const filters = {};

  // list shows a part of the items, and a button for more. Its elements are NAME, NAME-more, NAME-empty and NAME-table.
  function list(name, all, textOf, make, update) {
    const filter = filters[name] || '';
    const items = filter ? all.filter((item) => textOf(item).toLowerCase().includes(filter)) : all;
    const limit = limits[name] || step;
    sync($(name), items.slice(0, limit), (item) => item.identity, make, update);
    const more = $(name + '-more');
    more.hidden = items.length <= limit;
    setText(more, `Show more (${items.length - limit} of ${items.length} are not shown)`);
    $(name + '-empty').hidden = all.length > 0;
    const table = $(name + '-table');
    if (table) table.parentNode.hidden = items.length === 0;
  }

  const row = () => el('tr');
  const number = (n) => n.toLocaleString('en');

  function bytes(n) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let i = 0;
    while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
    return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
  }

  function tone(status) {
    switch (status.toLowerCase()) {
      case 'ready': case 'running': case 'healthy': case 'available': case 'attached': return 'good';
      case 'failed': case 'error': case 'unhealthy': case 'unknown': return 'bad';
      case 'stopped': case 'unchecked': return 'muted';
      default: return 'wait';
    }
  }
  const status = (text) => [text, `fit dot ${tone(text)}`];

  let view = null; // the newest overview
  let names = new Map(); // of machines, by identity

  // Load balancers.
  const details = new Map(); // what open load balancers say about their targets, by identity
  function makeBalancer(lb) {
    const summary = el('summary', {}, el('span', {}), el('span', { className: 'name' }), el('span', { className: 'mono' }),
      el('span', { className: 'muted' }), el('span', { className: 'end muted' }));
    const node = el('details', {}, summary, el('div', { className: 'inside' }));
    node.addEventListener('toggle', () => { if (node.open) loadTargets(lb.identity); else details.delete(lb.identity); });
    return node;
  }

  function updateBalancer(node, lb) {
    const [state, name, address, ports, health] = node.firstChild.children;
    setText(state, lb.status);
    setClass(state, `dot ${tone(lb.status)}`);
    setText(name, lb.name);
    setText(address, lb.addresses.join(' '));
    setText(ports, lb.listeners.map((l) => `${l.port}/${l.protocol}`).join(' '));
    setText(health, summarise(lb.listeners));
    if (node.open) updateListeners(node.lastChild, lb);
  }

  function summarise(listeners) {
    const sum = (key) => listeners.reduce((total, l) => total + l[key], 0);
    const checked = sum('healthy') + sum('unhealthy');
    if (listeners.length === 0) return 'no listeners';
    return checked > 0 ? `${number(sum('healthy'))} of ${number(checked)} healthy` : `${number(sum('targets'))} targets`;
  }

  const facts = (l) => `${number(l.connections)} connections, ${bytes(l.received)} received, ${bytes(l.sent)} sent`;

  function updateListeners(inside, lb) {
    const groups = new Map(view.targetGroups.map((g) => [g.identity, g]));
    const loaded = new Map((details.get(lb.identity) || []).map((l) => [l.identity, l.targets]));
    sync(inside, lb.listeners, (l) => l.identity, makeListener, (node, l) => {
      const [title, fact, problem, wrap, more] = node.children;
      const group = groups.get(l.targetGroup);
      setText(title, `Port ${l.port}/${l.protocol} to ${group ? `${group.name}, port ${group.port}` : l.targetGroup}`);
      setText(fact, `${group ? `${group.policy || 'ROUND_ROBIN'}, health check: ${group.healthCheck || 'none'}. ` : ''}${facts(l)}`);
      problem.hidden = !l.problem;
      setText(problem, l.problem || '');
      updateTargets(node, wrap, more, loaded.get(l.identity) || []);
    });
  }

  function makeListener() {
    const head = ['Target', 'Address', 'Health', 'Connections', 'Received', 'Sent'].map((name, i) =>
      el('th', { scope: 'col', textContent: name, className: i > 2 ? 'number' : '' }));
    const table = el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody'));
    const more = el('button', { type: 'button', className: 'more', hidden: true });
    const node = el('div', {}, el('h3'), el('p', { className: 'facts' }), el('p', { className: 'wait', hidden: true }),
      el('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Targets' }, table), more);
    more.addEventListener('click', () => { node.limit = (node.limit || step) + step; draw(); });
    return node;
  }

  function updateTargets(node, wrap, more, targets) {
    const limit = node.limit || step;
    wrap.hidden = targets.length === 0;
    sync(wrap.firstChild.tBodies[0], targets.slice(0, limit), (t) => t.machine, row, (tr, t) => cells(tr, [
      names.get(t.machine) || t.machine, [t.address, 'mono fit'], status(t.health), [number(t.connections), 'number'],
      [bytes(t.received), 'number'], [bytes(t.sent), 'number'],
    ]));
    more.hidden = targets.length <= limit;
    setText(more, `Show more (${targets.length - limit} of ${targets.length} targets are not shown)`);
  }

  async function loadTargets(identity) {
    try {
      const answer = await fetch(`${api}/loadbalancers/${encodeURIComponent(identity)}`);
      if (!answer.ok) return;
      details.set(identity, (await answer.json()).listeners);
      draw();
    } catch { /* the connection's state says so */ }
  }

  // The network.
  function makeVPC() {
    const table = (...head) => el('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': head[0] + 's' }, el('table', {},
      el('thead', {}, el('tr', {}, ...head.map((name) => el('th', { scope: 'col', textContent: name })))), el('tbody')));
    return el('details', { open: true }, el('summary', {}, el('span', {}), el('span', { className: 'name' }),
      el('span', { className: 'mono' }), el('span', { className: 'end muted' })),
    el('div', { className: 'inside' }, table('Subnet', 'Status', 'Network', 'Route table'), table('Route', 'To', 'Route table'),
      el('p', { className: 'facts' })));
  }

  function updateVPC(node, v) {
    const [state, name, cidrs, region] = node.firstChild.children;
    setText(state, v.status);
    setClass(state, `dot ${tone(v.status)}`);
    setText(name, v.name);
    setText(cidrs, v.cidrs.join(' '));
    setText(region, v.region);
    if (!node.open) return;
    const [subnets, routes, none] = node.lastChild.children;
    const tables = new Map(v.routeTables.map((t) => [t.identity, t.name]));
    const body = (wrap) => wrap.firstChild.tBodies[0];
    subnets.hidden = v.subnets.length === 0;
    sync(body(subnets), v.subnets.slice(0, shown), (s) => s.identity, row, (tr, s) => cells(tr, [
      s.name, status(s.status), [s.cidr, 'mono'], tables.get(s.routeTable) || '',
    ]));
    const all = v.routeTables.flatMap((t) => t.routes.map((r) => ({ ...r, table: t })));
    routes.hidden = all.length === 0;
    sync(body(routes), all.slice(0, shown), (r) => r.table.identity + r.destination, row, (tr, r) => cells(tr, [
      [r.destination, 'mono'], [r.target, 'mono'], r.table.name,
    ]));
    const longest = Math.max(v.subnets.length, all.length);
    setText(none, all.length === 0 ? 'There are no routes.' : '');
    if (longest > shown) setText(none, `There are ${v.subnets.length} subnets and ${all.length} routes; the first ${shown} are shown.`);
  }

  // Faults.
  let known = [];
  const inForce = (kind) => view.faults.filter((f) => !f.spent && f.rule.effect.kind === kind);

  function makeSwitch(fault) {
    const node = el('button', { type: 'button', textContent: fault.name, title: fault.help, 'aria-pressed': 'false' });
    const explain = () => setText($('fault-help'), fault.help);
    node.addEventListener('focus', explain);
    node.addEventListener('mouseenter', explain);
    node.addEventListener('click', () => toggle(fault));
    return node;
  }

  async function toggle(fault) {
    if (!view) return;
    const on = inForce(fault.effect.kind);
    if (on.length > 0) {
      await Promise.all(on.map((f) => clearRule(f.rule.id)));
      return;
    }
    const rule = { effect: fault.effect };
    if ($('operation').value) rule.operation = $('operation').value;
    await send('POST', `${api}/faults`, rule);
  }

  const clearRule = (id) => send('DELETE', `${api}/faults/${encodeURIComponent(id)}`);

  async function send(method, url, body) {
    let problem = '';
    try {
      const answer = await fetch(url, { method, body: body && JSON.stringify(body) });
      if (!answer.ok && answer.status !== 404) problem = `${answer.status}: ${await answer.text()}`;
    } catch { problem = 'The emulator does not answer.'; }
    $('fault-error').hidden = !problem;
    setText($('fault-error'), problem);
    refresh();
  }

  function makeRule(f) {
    const button = el('button', { type: 'button', textContent: 'Turn off', 'aria-label': `Turn off ${f.rule.id}` });
    button.addEventListener('click', () => {
      $('switches').firstChild.focus(); // this button will be gone
      clearRule(f.rule.id);
    });
    return el('tr', {}, el('td'), el('td'), el('td'), el('td', { className: 'number' }, button));
  }

  function updateRule(tr, f) {
    const effect = [f.rule.effect.kind, f.rule.effect.status, f.rule.effect.delay].filter(Boolean).join(' ');
    const range = [f.rule.operation || 'all', f.rule.path].filter(Boolean).join(', ');
    cells(tr, [f.spent ? [`${effect} (ended)`, 'muted'] : [effect, 'dot bad'], [range, 'mono'],
      [`${number(f.fired)} of ${number(f.matched)}`, 'number']]);
  }

  function drawFaults() {
    for (const fault of known) {
      const pressed = String(inForce(fault.effect.kind).length > 0);
      const node = $('switches').itemNodes.get(fault.effect.kind);
      if (node.getAttribute('aria-pressed') !== pressed) node.setAttribute('aria-pressed', pressed);
    }
    list('rules', view.faults.map((f) => ({ ...f, identity: f.rule.id })), (f) => f.rule.id, makeRule, updateRule);
  }

  // Calls.
  let calls = []; // newest first
  let dropped = 0;
  let paused = false;
  const isWrite = (c) => c.method !== 'GET' && c.method !== 'HEAD';
  const isError = (c) => c.status === 0 || c.status >= 400;
  const seconds = []; // [second, calls, writes, errors], oldest first

  function record(call) {
    const second = Math.floor(Date.now() / 1000);
    if (seconds.length === 0 || seconds[seconds.length - 1][0] !== second) seconds.push([second, 0, 0, 0]);
    const now = seconds[seconds.length - 1];
    now[1]++;
    if (isWrite(call)) now[2]++;
    if (isError(call)) now[3]++;
    calls.unshift(call);
    if (calls.length > kept) calls.length = kept;
    drawSoon();
  }

  function drawRates() {
    const second = Math.floor(Date.now() / 1000);
    while (seconds.length > 0 && seconds[0][0] <= second - 60) seconds.shift();
    ['calls-rate', 'writes-rate', 'errors-rate'].forEach((id, i) =>
      setText($(id), number(seconds.reduce((total, s) => total + s[i + 1], 0))));
    const byAge = new Map(seconds.map((s) => [second - s[0], s[1]]));
    const top = Math.max(1, ...byAge.values());
    // The line ends with the last second that is over.
    const points = Array.from({ length: 60 }, (_, i) => `${i},${(15 - 14 * (byAge.get(60 - i) || 0) / top).toFixed(1)}`);
    $('calls-line').setAttribute('points', points.join(' '));
  }

  function duration(s) {
    if (s === undefined) return '';
    return s < 0.001 ? `${Math.round(s * 1e6)} µs` : s < 1 ? `${(s * 1000).toFixed(1)} ms` : `${s.toFixed(1)} s`;
  }

  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const textOf = (c) => `${c.method} ${c.path} ${c.status} ${c.subject || ''} ${c.fault || ''}`.toLowerCase();

  function drawCalls() {
    setText($('dropped'), `${number(dropped)} calls and changes came too fast to be shown.`);
    $('dropped').hidden = dropped === 0;
    if (paused) return;
    const filter = filters.calls || '';
    const show = [];
    for (const call of calls) {
      if ($('writes-only').checked && !isWrite(call) || $('errors-only').checked && !isError(call)) continue;
      if (filter && !textOf(call).includes(filter)) continue;
      if (show.push(call) === shown) break;
    }
    sync($('calls'), show, (c) => c, makeCall, () => {});
    $('calls-table').parentNode.hidden = show.length === 0;
    $('calls-empty').hidden = calls.length > 0;
  }

  function makeCall(c) {
    const what = c.status === 0 ? 'dropped' : String(c.status);
    const tr = el('tr', { className: isWrite(c) ? 'write' : '' });
    cells(tr, [[clock.format(new Date(c.time)), 'muted fit'], ['', 'mono path'],
      [c.fault ? `${what}, fault` : what, `fit dot ${isError(c) ? 'bad' : c.fault ? 'wait' : 'good'}`],
      [duration(c.seconds), 'number'], [c.subject || '', 'client']]);
    tr.cells[2].title = c.fault || '';
    tr.cells[1].append(el('span', { className: 'method', textContent: c.method }), ' ', c.path);
    return tr;
  }

  // Everything.
  let announced = null; // what the screen reader was told last

  function announce() {
    const now = {
      machines: view.machines.length, 'load balancers': view.loadBalancers.length, volumes: view.volumes.length,
      faults: view.faults.filter((f) => !f.spent).length,
    };
    if (announced) {
      const changed = Object.keys(now).filter((name) => now[name] !== announced[name]);
      if (changed.length > 0) setText($('news'), changed.map((name) => `${name}: ${now[name]}`).join(', '));
    }
    announced = now;
  }

  function draw() {
    if (!view) return;
    setText($('calls-total'), number(view.calls));
    setText($('machines-total'), number(view.objects.machine));
    setText($('balancers-total'), number(view.objects.loadbalancer));
    setText($('volumes-total'), number(view.objects.volume));
    $('problem').hidden = !view.network.problem;
    setText($('problem'), view.network.problem || '');
    list('balancers', view.loadBalancers, (lb) => `${lb.name} ${lb.identity} ${lb.addresses.join(' ')} ${lb.status}`, makeBalancer, updateBalancer);
    list('machines', view.machines, (m) => `${m.name} ${m.identity} ${m.addresses.join(' ')} ${m.zone} ${m.state} ${m.status}`, row,
      (tr, m) => cells(tr, [m.name, status(m.status === 'ready' ? m.state : m.status), [m.addresses.join(' '), 'mono'], m.zone, m.type]));
    list('network', view.vpcs, (v) => v.name, makeVPC, updateVPC);
    list('groups', view.targetGroups, (g) => g.name, row, (tr, g) => cells(tr, [g.name, `${g.port}/${g.protocol}`,
      g.policy || 'ROUND_ROBIN', g.healthCheck || 'none', [number(g.listeners), 'number'], [number(g.targets), 'number']]));
    list('volumes', view.volumes, (v) => v.name, row, (tr, v) => cells(tr, [v.name, status(v.status), [`${v.size} GiB`, 'number'],
      v.type, names.get(v.machine) || v.machine]));
    list('addresses', view.reservedIps, (ip) => ip.name, row, (tr, ip) => cells(tr, [ip.name, status(ip.status),
      [ip.addresses.join(' '), 'mono'], ip.attachedTo]));
    drawFaults();
    announce();
  }

  let timer = 0;
  function drawSoon() {
    if (!timer) timer = setTimeout(() => { timer = 0; drawRates(); drawCalls(); }, 150);
  }

  let loading = false;
  let again = false;
  async function refresh() {
    again = true;
    if (loading) return;
    loading = true;
    while (again) {
      again = false;
      const began = performance.now();
      try {
        const answer = await fetch(`${api}/overview`);
        if (answer.ok) {
          view = await answer.json();
          names = new Map(view.machines.map((m) => [m.identity, m.name]));
          draw();
          await Promise.all([...details.keys()].map(loadTargets));
        }
      } catch { again = false; }
      // A large cloud is asked less often.
      await new Promise((done) => setTimeout(done, Math.max(200, 2 * (performance.now() - began))));
    }
    loading = false;
  }

  function connect() {
    const events = new EventSource(`${api}/events`);
    const say = (text, name) => { setText($('connection'), text); setClass($('connection'), `dot ${name}`); };
    events.onopen = () => { say('Live', 'good'); refresh(); };
    events.onerror = () => say('Disconnected: the emulator does not answer', 'bad');
    events.addEventListener('call', (e) => record(JSON.parse(e.data)));
    events.addEventListener('change', (e) => { if (!view || JSON.parse(e.data).revision > view.revision) refresh(); });
    events.addEventListener('dropped', (e) => { dropped += JSON.parse(e.data).events; refresh(); });
  }

  // earlier shows the writes from before the page was opened; calls were not recorded then.
  async function earlier() {
    try {
      const writes = await (await fetch(`${api}/writes?last=50`)).json();
      calls = calls.concat(writes.reverse().map((w) => ({ ...w, method: w.operation.split(' ')[0] })));
      drawSoon();
    } catch { /* the connection's state says so */ }
  }

  function showTheme() {
    root.dataset.theme = theme();
    const other = theme() === 'dark' ? 'light' : 'dark';
    setText($('theme'), other === 'dark' ? '☾ Dark' : '☀ Light');
    $('theme').setAttribute('aria-label', `Use the ${other} theme`);
  }

  function listen() {
    prefersDark.addEventListener('change', showTheme);
    $('theme').addEventListener('click', () => {
      chosen = theme() === 'dark' ? 'light' : 'dark';
      try { localStorage.setItem('theme', chosen); } catch { /* it is chosen until the page is closed */ }
      showTheme();
    });
    for (const name of ['balancers', 'machines', 'network', 'groups', 'volumes', 'addresses', 'rules']) {
      $(name + '-more').addEventListener('click', () => { limits[name] = (limits[name] || step) + 5 * step; draw(); });
    }
    for (const name of ['balancers', 'machines', 'calls']) {
      $(name + '-filter').addEventListener('input', (e) => { filters[name] = e.target.value.toLowerCase(); draw(); drawCalls(); });
    }
    for (const id of ['writes-only', 'errors-only']) $(id).addEventListener('change', drawCalls);
    $('pause').addEventListener('click', () => {
      paused = !paused;
      $('pause').setAttribute('aria-pressed', String(paused));
      drawCalls();
    });
  }

  async function start() {
    showTheme();
    listen();
    setText($('endpoint'), location.origin);
    setText($('example'), `curl -H 'Authorization: Token TOKEN' ${location.origin}/v1/vpcs`);
    drawRates();
    drawCalls();
    setInterval(drawRates, 1000);
    setInterval(() => { if (!document.hidden) refresh(); }, pollEvery);
    document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
    known = await (await fetch(`${api}/page/faults.json`)).json();
    sync($('switches'), known, (f) => f.effect.kind, makeSwitch, () => {});
    connect();
    earlier();
  }
  document.addEventListener('DOMContentLoaded', start);
})();

// Shows the page when its notification is clicked. It does nothing else.

self.addEventListener('notificationclick', (e) => {
  e.notification.close();
  const url = `/#/agent/${encodeURIComponent(e.notification.data)}`;
  e.waitUntil((async () => {
    const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    if (!pages.length) return self.clients.openWindow(url);
    pages[0].postMessage({ agent: e.notification.data });
    return pages[0].focus();
  })());
});

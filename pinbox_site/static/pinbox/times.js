// Puts every <time> of the page into the reader's own time zone; without this script it is in UTC.
const show = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.dateTime);
  if (!Number.isNaN(at.getTime())) {
    time.title = time.dateTime;
    time.textContent = show.format(at);
  }
}

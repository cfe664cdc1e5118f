// Icons as SVG paths in a 24 by 24 box. They are hidden from screen readers; the buttons that contain them have labels.

const paths = {
  play: 'M7 4.8v14.4L19 12z',
  pause: 'M8 5v14M16 5v14',
  stop: 'M6.5 6.5h11v11h-11z',
  download: 'M12 4v11m-5-4.5 5 5 5-5M5 20h14',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  close: 'M6 6l12 12M18 6 6 18',
  search: 'M16 16l4.5 4.5M11 18a7 7 0 1 1 0-14 7 7 0 0 1 0 14z',
  contrast: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  key: 'M14.5 13.5a4.5 4.5 0 1 0-4-4L4 16v4h4v-2.5h2.5V15zM16 8h.01',
  enter: 'M20 5v6a3 3 0 0 1-3 3H5m5-5-5 5 5 5',
  warning: 'M12 4 2.5 20h19zM12 10v4.5M12 17.3v.01',
  star: 'M12 4l2.5 5.1 5.6.8-4 4 .9 5.6-5-2.7-5 2.7.9-5.6-4-4 5.6-.8z',
  record: 'M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3zM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3',
};

/** @typedef {keyof typeof paths} IconName */

const namespace = 'http://www.w3.org/2000/svg';

/** @param {IconName} name */
export function icon(name) {
  const drawing = document.createElementNS(namespace, 'svg');
  drawing.setAttribute('viewBox', '0 0 24 24');
  drawing.setAttribute('class', `icon icon-${name}`);
  drawing.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', paths[name]);
  drawing.append(path);
  return drawing;
}

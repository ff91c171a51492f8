import type { TextStyle } from '../../service/operations/logger.js'
import type { Paint } from './paint.js'

/** How the log looks in a terminal: what needs a look stands out, what is always there stands back. */
export const logPaint =
  (paint: Paint) =>
  (style: TextStyle, text: string): string => {
    switch (style) {
      case 'dim':
        return paint('dim', text)
      case 'warn':
        return paint('magenta', text)
      case 'error':
        return paint('bold', paint('magenta', text))
      case 'plain':
        return paint('cyan', text)
    }
  }

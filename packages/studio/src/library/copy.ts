import type { TranscriptDocument, TranscriptLine } from '../state/transcript.js'
import { textOfLine } from './edits.js'
import { toText, type ExportOptions } from './export.js'

/** A part of a line: its words from one index up to another one, which is not part of it. */
export interface LinePart {
  readonly line: number
  readonly fromWord: number
  readonly toWord: number
}

/** The text of parts of a transcript; of a part within one line only its words. */
export const textOfParts = (
  { lines, speakers }: Pick<TranscriptDocument, 'lines' | 'speakers'>,
  parts: readonly LinePart[],
  options: Pick<ExportOptions, 'hasTimes' | 'hasSpeakers'>,
): string => {
  const byLine = new Map(parts.map((part) => [part.line, part]))
  const chosen = lines.flatMap((line): readonly TranscriptLine[] => {
    const part = byLine.get(line.id)
    if (part === undefined) return []
    if (line.status !== 'recognized') return [line]
    const words = line.words.slice(part.fromWord, part.toWord)
    const [first] = words
    return first === undefined ? [] : [{ ...line, words, startMs: first.startMs }]
  })
  const [only, another] = chosen
  if (only !== undefined && another === undefined && only.words.length > 0) return textOfLine(only)
  return toText({ lines: chosen, speakers }, options).trimEnd()
}

/** What is selected of the captions; nothing if the selection begins or ends elsewhere. */
export const selectedParts = (captions: HTMLElement, selection: Selection | null): readonly LinePart[] => {
  if (selection === null || selection.isCollapsed || selection.rangeCount === 0) return []
  const range = selection.getRangeAt(0)
  if (!captions.contains(range.commonAncestorContainer)) return []
  return [...captions.querySelectorAll<HTMLElement>('[data-line]')].flatMap((paragraph): readonly LinePart[] => {
    if (!range.intersectsNode(paragraph)) return []
    const line = Number(paragraph.dataset['line'])
    const words = [...paragraph.querySelectorAll<HTMLElement>('[data-word]')]
    // A line far from the view has no elements for its words, and is selected as a whole.
    if (words.length === 0) return [{ line, fromWord: 0, toWord: Infinity }]
    const selected = words.filter((word) => range.intersectsNode(word)).map((word) => Number(word.dataset['word']))
    const [first] = selected
    return first === undefined ? [] : [{ line, fromWord: first, toWord: (selected.at(-1) ?? first) + 1 }]
  })
}

/** Puts text on the clipboard. A page of an insecure origin can do it only by the browser's own command. */
export const copyText = async (text: string): Promise<void> => {
  const clipboard: Clipboard | undefined = 'clipboard' in navigator ? navigator.clipboard : undefined
  try {
    if (clipboard !== undefined) {
      await clipboard.writeText(text)
      return
    }
  } catch {
    // Refused by a policy of the browser.
  }
  const put = (event: ClipboardEvent): void => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  document.addEventListener('copy', put, { capture: true, once: true })
  const isDone = document.execCommand('copy')
  document.removeEventListener('copy', put, { capture: true })
  if (!isDone) throw new Error('The browser does not let the page copy. Select the text, and copy it by keyboard.')
}

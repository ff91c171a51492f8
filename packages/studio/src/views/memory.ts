/** What a page remembers of its look and its choices. */
type Remembered =
  'model' | 'panel' | 'times' | 'speed' | 'scheme' | 'keeping' | 'hasTimes' | 'hasSpeakers' | 'isCorrected'

export const remembered = (name: Remembered): string | undefined => {
  try {
    return localStorage.getItem(name) ?? undefined
  } catch {
    // A browser may refuse a page any memory.
    return undefined
  }
}

export const remember = (name: Remembered, value: string): void => {
  try {
    localStorage.setItem(name, value)
  } catch {
    // Full, or refused: the choice lasts as long as the page.
  }
}

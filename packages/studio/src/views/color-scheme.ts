import { remember, remembered } from './memory.js'
import { element, setText } from './page.js'

const darkScheme = matchMedia('(prefers-color-scheme: dark)')

const isDark = (): boolean => {
  const chosen = document.documentElement.dataset['theme']
  return chosen === undefined ? darkScheme.matches : chosen === 'dark'
}

/** Shows the page in the chosen scheme, otherwise in that of the system; calls `changed` when it may differ. */
export const showColorScheme = (changed: () => void): void => {
  const button = element('theme')
  const show = (): void => {
    setText(button, isDark() ? 'Light' : 'Dark')
    button.setAttribute('aria-label', `Switch to the ${isDark() ? 'light' : 'dark'} scheme`)
    changed()
  }
  const choose = (scheme: string | undefined): void => {
    if (scheme === 'dark' || scheme === 'light') document.documentElement.dataset['theme'] = scheme
    show()
  }
  button.addEventListener('click', () => {
    const scheme = isDark() ? 'light' : 'dark'
    remember('scheme', scheme)
    choose(scheme)
  })
  darkScheme.addEventListener('change', show)
  button.removeAttribute('disabled')
  choose(remembered('scheme'))
}

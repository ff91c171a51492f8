import { remember, remembered } from './memory.js'
import { element } from './page.js'

/** A button that shows or hides something, which the page remembers. Returns how to press it by a key. */
export const listenToToggle = (id: string, name: 'panel' | 'times', show: (isOn: boolean) => void): (() => void) => {
  const button = element(id)
  const set = (isOn: boolean): void => {
    button.setAttribute('aria-pressed', String(isOn))
    show(isOn)
  }
  const toggle = (): void => {
    const isOn = button.getAttribute('aria-pressed') !== 'true'
    remember(name, isOn ? 'on' : 'off')
    set(isOn)
  }
  button.addEventListener('click', toggle)
  set(remembered(name) === 'on')
  return toggle
}

/** The list of transcripts: beside the text on a wide screen, a drawer above it on a narrow one. */
export const listenToDrawer = (): void => {
  const [toggle, sidebar, back] = [element('drawer-toggle'), element('sidebar'), element('drawer-back')]
  const set = (isOpen: boolean): void => {
    document.body.classList.toggle('drawer', isOpen)
    toggle.setAttribute('aria-expanded', String(isOpen))
    back.hidden = !isOpen
  }
  const isOpen = (): boolean => document.body.classList.contains('drawer')
  const close = (): void => {
    if (!isOpen()) return
    set(false)
    toggle.focus()
  }
  toggle.addEventListener('click', () => {
    if (isOpen()) {
      close()
      return
    }
    set(true)
    sidebar.querySelector<HTMLElement>('a, button, input')?.focus()
  })
  back.addEventListener('click', close)
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') close()
  })
  window.addEventListener('hashchange', () => set(false))
}

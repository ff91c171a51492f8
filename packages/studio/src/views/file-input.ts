import { elementOf } from './page.js'

/** Calls `open` with the files that a person chooses in an input. */
export const listenToFiles = (id: string, open: (files: readonly File[]) => void): void => {
  const input = elementOf(HTMLInputElement, id)
  input.addEventListener('change', () => {
    const files = [...(input.files ?? [])]
    if (files.length > 0) open(files)
    // So that the same file can be chosen again.
    input.value = ''
  })
}

/** Calls `open` with the files that are dropped on the page. */
export const listenToDrops = (open: (files: readonly File[]) => void): void => {
  const { classList } = document.body
  document.addEventListener('dragover', (event) => {
    event.preventDefault()
    classList.add('dropping')
  })
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) classList.remove('dropping')
  })
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    classList.remove('dropping')
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) open(files)
  })
}

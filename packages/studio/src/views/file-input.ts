import { elementOf } from './page.js'

/** Calls `open` with each file that a person chooses in an input. */
export const listenToFiles = (id: string, open: (file: File) => void): void => {
  const input = elementOf(HTMLInputElement, id)
  input.addEventListener('change', () => {
    const [file] = input.files ?? []
    if (file !== undefined) open(file)
    // So that the same file can be chosen again.
    input.value = ''
  })
}

/** Calls `open` with a file that is dropped on the page. */
export const listenToDrops = (open: (file: File) => void): void => {
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
    const file = event.dataTransfer?.files[0]
    if (file !== undefined) open(file)
  })
}

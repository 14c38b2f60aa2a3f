/** The message for an optional package that is not installed. npm leaves such packages out, without a warning, when Node is too old. */
export const missingPackageText = (packageName: string): string =>
  `the package ${packageName} is not installed: run npm install ${packageName} with Node 24 or newer (npm skips it under an older Node)`

"""Recalculates workbooks in LibreOffice. Run by the system's own python3, which has LibreOffice's module uno.

    python3 office.py JOB.json

The job names the office program, a folder of its own, and for each workbook the scenarios to select and the sheets to
read; it may name cells to type into first, and a file to save the workbook as at the end. Every answer is one line on
stdout: workbook, scenario, and the values of each sheet row by row.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException

XLSX = "Calc MS Excel 2007 XML"


def connect(pipe):
    resolver = uno.getComponentContext().ServiceManager.createInstanceWithContext(
        "com.sun.star.bridge.UnoUrlResolver", uno.getComponentContext()
    )
    for _ in range(240):
        try:
            context = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
            return context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
        except NoConnectException:
            time.sleep(0.5)
    raise SystemExit("LibreOffice did not start")


def used(sheet):
    cursor = sheet.createCursor()
    cursor.gotoEndOfUsedArea(False)
    return sheet.getCellRangeByPosition(0, 0, cursor.RangeAddress.EndColumn, cursor.RangeAddress.EndRow)


def errors(cells):
    """Cells whose formula gives an error."""
    wrong = cells.queryFormulaCells(4)  # com.sun.star.sheet.FormulaResult.ERROR
    return [] if wrong.Count == 0 else [wrong.RangeAddressesAsString]


def main(path):
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    pipe = f"stuckstep{time.time_ns()}"
    profile = (Path(job["folder"]) / "profile").as_uri()
    options = ["--headless", "--norestore", "--nologo", f"--accept=pipe,name={pipe};urp;"]
    office = subprocess.Popen([job["office"], f"-env:UserInstallation={profile}", *options], stdout=subprocess.DEVNULL)
    try:
        desktop = connect(pipe)
        hidden = PropertyValue("Hidden", 0, True, 0)
        for file, scenarios in job["files"].items():
            document = desktop.loadComponentFromURL(Path(file).as_uri(), "_blank", 0, (hidden,))
            for sheet, cell, value in job.get("edits", ()):
                place = document.Sheets.getByName(sheet).getCellRangeByName(cell)
                if isinstance(value, str):
                    place.String = value
                else:
                    place.Value = value
            areas = {name: used(document.Sheets.getByName(name)) for name in document.Sheets.ElementNames}
            cells = document.createInstance("com.sun.star.sheet.SheetCellRanges")
            cells.addRangeAddresses(tuple(area.RangeAddress for area in areas.values()), False)
            for scenario in scenarios:
                document.Sheets.getByName("cover").getCellRangeByName("C5").String = scenario
                document.calculateAll()
                sheets = {name: areas[name].DataArray for name in job["sheets"]}
                answer = {"file": file, "scenario": scenario, "errors": errors(cells)}
                print(json.dumps({**answer, "sheets": sheets}), flush=True)
            if "save" in job:
                document.storeToURL(Path(job["save"]).as_uri(), (PropertyValue("FilterName", 0, XLSX, 0),))
            document.close(True)
        desktop.terminate()
        office.wait(60)
    finally:
        if office.poll() is None:
            office.kill()


if __name__ == "__main__":
    main(sys.argv[1])

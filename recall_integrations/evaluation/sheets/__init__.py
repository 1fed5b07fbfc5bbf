"""Reports as one HTML file each: no script, nothing fetched, for light and dark, for screen and paper."""
